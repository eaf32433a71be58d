// The weights of all bins of a pixel from what was found around it: a warp a pixel.
//
// Around a depth that was found, the weight falls like exp(-distance), at two widths; a share of it is spread over all
// depths. The logarithms are rounded down: then weights add up to no more than one, which a guarantee rests on.

__device__ inline double whole_of_warp(double value) {
    for (int apart = 16; apart; apart /= 2) value += __shfl_xor_sync(~0u, value, apart);
    return value;
}

extern "C" __global__ void spread_prior(
    int count, int places, const double* depth, const double* trust, double anywhere, double near_width,
    double far_width, double share_far, float* log_prior) {
    int pixel = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (pixel >= count) return;
    const double* my_depth = depth + (long long)pixel * places;
    const double* my_trust = trust + (long long)pixel * places;
    float* row = log_prior + (long long)pixel * BINS;
    double trusted = 0;
    for (int place = 0; place < places; place++) trusted += my_trust[place];
    auto weight_of = [&](int bin) {
        double weight = trusted > 0 ? 0.0 : 1.0 / BINS;
        for (int place = 0; place < places; place++) {
            if (my_trust[place] <= 0) continue;
            double away = fabs(bin + 0.5 - my_depth[place]);
            weight += my_trust[place] * ((1 - share_far) * exp(-away / near_width) / (2 * near_width)
                                         + share_far * exp(-away / far_width) / (2 * far_width));
        }
        return anywhere / BINS + (1 - anywhere) * weight;
    };
    double whole = 0;
    for (int bin = lane; bin < BINS; bin += 32) whole += weight_of(bin);
    whole = whole_of_warp(whole) * (1 + 1e-12);
    for (int bin = lane; bin < BINS; bin += 32) row[bin] = __double2float_rd(log(weight_of(bin) / whole));
}
