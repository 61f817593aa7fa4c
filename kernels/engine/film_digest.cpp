// film_digest.cpp: a number that tells two films of one size apart, found where the film is: benches compare films
// more often than they could be read back.
#include "trace/path.h"

namespace rq {

// A bijection whose every output bit depends on every input bit (the finaliser of SplitMix64, Steele, Lea and Flood
// 2014).
RQ_INLINE u64 mixed(u64 z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// A sum over pixels, so that the order is of no account; each pixel's share depends on where it is.
RQ_KERNEL(film_digest, FilmDigestParams) {
    u64 sum = 0;
    const Items pixels = my_items(p.film.pixels);
    for (u64 i = pixels.first; i < pixels.end; i += pixels.step) {
        const u32 samples = p.film.counts[i];
        u64 h = mixed(i + 0x9e3779b97f4a7c15ull);
        // The sums of a pixel without a sample are whatever its memory held.
        for (u32 channel = 0; channel < 3 && samples != 0; ++channel)
            h = mixed(h ^ p.film.sums[channel * p.film.pixels + i]);
        sum += mixed(h ^ samples);
    }
    reduce_add(p.digest, sum);
}

}  // namespace rq
