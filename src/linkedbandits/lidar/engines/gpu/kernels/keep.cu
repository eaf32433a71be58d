// Which pixels of a list go on: a list of those alone, so that no block is started for the others.

// A thread for each pixel of the list. Those whose mark is set, or not set, as wanted; `count` begins with 0 and says how
// many they are. They come in any order: what a pixel sees and does depends on its number alone.
extern "C" __global__ void keep(const int* list, int size, const unsigned char* marks, int wanted, int* kept,
                                int* count) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= size) return;
    int pixel = list[row];
    if ((marks[pixel] != 0) == (wanted != 0)) kept[atomicAdd(count, 1)] = pixel;
}
