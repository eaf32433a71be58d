// The weights of all bins of a pixel from what was found around it: a warp a pixel.
//
// Around each depth that was found near by, the weight falls like exp(-distance / width), with shares of a few widths
// that were learnt for the group that the pixel is in; what is not trusted is spread over all depths. The logarithms are
// rounded down: then weights add up to no more than one, which a guarantee rests on.

__device__ inline double whole_of_warp(double value) {
    for (int apart = 16; apart; apart /= 2) value += __shfl_xor_sync(~0u, value, apart);
    return value;
}

extern "C" __global__ void spread_prior(
    int count, int places, int width_count, const double* depth, const double* trust, const long long* group,
    const double* shares, const double* widths, float* log_prior) {
    int pixel = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (pixel >= count) return;
    const double* my_depth = depth + (long long)pixel * places;
    const double* my_trust = trust + (long long)pixel * places;
    const double* my_shares = shares + group[pixel] * places * width_count;
    float* row = log_prior + (long long)pixel * BINS;
    double trusted = 0;
    for (int place = 0; place < places; place++) trusted += my_trust[place];
    auto weight_of = [&](int bin) {
        double weight = (1 - trusted) / BINS;
        for (int place = 0; place < places; place++) {
            if (my_trust[place] <= 0) continue;
            double away = fabs(bin + 0.5 - my_depth[place]), near = 0;
            for (int i = 0; i < width_count; i++) {
                double share = my_shares[place * width_count + i];
                if (share > 0) near += share * exp(-away / widths[i]) / (2 * widths[i]);
            }
            weight += my_trust[place] * near;
        }
        return weight;
    };
    double whole = 0;
    for (int bin = lane; bin < BINS; bin += 32) whole += weight_of(bin);
    whole = whole_of_warp(whole) * (1 + 1e-12);
    for (int bin = lane; bin < BINS; bin += 32) row[bin] = __double2float_rd(log(weight_of(bin) / whole));
}
