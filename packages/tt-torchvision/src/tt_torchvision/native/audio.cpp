// The loops over samples of torchaudio's filters.  All tensors are contiguous.
#include <tt/extension.h>

#include <vector>

// An infinite impulse response, in place: output[t + order - 1] = input[t] - the sum of a[k] * output[t + k], k < order.
// `windows` is (batch, channels, samples), `flipped` (channels, order), `output` (batch, channels, order - 1 + samples).
template <typename T> void lfilter_loop(const tt_tensor *windows, const tt_tensor *flipped, tt_tensor *output) {
    const int64_t channels = windows->shape[1], samples = windows->shape[2], order = flipped->shape[1];
    const int64_t length = output->shape[2];
    for (int64_t row = 0; row < windows->shape[0] * channels; row++) {
        const T *in = static_cast<const T *>(windows->data) + row * samples;
        const T *a = static_cast<const T *>(flipped->data) + row % channels * order;
        T *out = static_cast<T *>(output->data) + row * length;
        for (int64_t t = 0; t < samples; t++) {
            T value = in[t];
            // The last coefficient belongs to the sample that is computed here; it is 1 and the sample 0.
            for (int64_t k = 0; k < order; k++) value -= a[k] * out[t + k];
            out[t + order - 1] = value;
        }
    }
}

// The distortion of a transistor, in place; `waveform` is (channels, samples).
template <typename T>
void overdrive_loop(const tt_tensor *waveform, const tt_tensor *temp, tt_tensor *last_in, tt_tensor *last_out,
                    tt_tensor *output) {
    const int64_t samples = waveform->shape[1];
    for (int64_t channel = 0; channel < waveform->shape[0]; channel++) {
        const T *wave = static_cast<const T *>(waveform->data) + channel * samples;
        const T *driven = static_cast<const T *>(temp->data) + channel * samples;
        T *out = static_cast<T *>(output->data) + channel * samples;
        T before = static_cast<T *>(last_in->data)[channel], filtered = static_cast<T *>(last_out->data)[channel];
        for (int64_t t = 0; t < samples; t++) {
            filtered = driven[t] - before + T(0.995) * filtered;
            before = driven[t];
            out[t] = wave[t] * T(0.5) + filtered * T(0.75);
        }
        static_cast<T *>(last_in->data)[channel] = before;
        static_cast<T *>(last_out->data)[channel] = filtered;
    }
}
