// Special functions, element by element: functors as in pointwise.cuh.  Formulas and Chebyshev coefficients are those of the
// composites in operators/pointwise/special.py and bessel.py, so that results have the same digits.

#ifndef TT_SPECIAL_CUH
#define TT_SPECIAL_CUH

#include "failures.cuh"
#include "pointwise.cuh"

namespace special {

// A function of its own, because kernels work on several elements at once and compile for seconds with copies of it.
#ifdef TT_HOST
#define TT_APART inline
#else
#define TT_APART __device__ __noinline__
#endif

// A table of coefficients, which are constants of the type in which they are needed.
#define TT_TABLE(name, count, ...) \
    struct name { \
        static constexpr int COUNT = count; \
        template <typename T> struct Of { T at[count] = {__VA_ARGS__}; }; \
    };

namespace tables {

// Of (1 + 2x) exp(x^2) erfc(x) for x >= 0, in (x - 4) / (x + 4).
TT_TABLE(ERFCX, 24,
    1.1774832005374487, -0.007260796620301901, -0.081265123236185, 0.06009212804122225, -0.02875393558027666,
    0.01059566336347286, -0.003136927294554264, 0.0007456494372536184, -0.0001369696503010054, 1.7183861600300937e-05,
    -7.158364623450346e-07, -2.4261399442449534e-07, 5.5765709395703566e-08, -2.1057869513809494e-09,
    -1.1717889351884957e-09, 1.9098355172456688e-10, 1.408871764208813e-11, -6.901108320480815e-12,
    9.167958364111292e-14, 2.1454508286554553e-13, -1.4716575027010627e-14, -6.668675118770405e-15,
    7.504598509880148e-16, 2.2200930066663882e-16)

// Of 1 / z^2, in the derivative of Stirling's series.
TT_TABLE(DIGAMMA, 8,
    0.08333333333333333, -0.008333333333333333, 0.003968253968253968, -0.004166666666666667, 0.007575757575757576,
    -0.021092796092796094, 0.08333333333333333, -0.4432598039215686)

// The Bernoulli numbers B(2j) over (2j)!, of Euler's and Maclaurin's formula.
TT_TABLE(BERNOULLI, 12,
    0.08333333333333333, -0.001388888888888889, 3.3068783068783064e-05, -8.267195767195768e-07, 2.08767569878681e-08,
    -5.284190138687493e-10, 1.338253653068468e-11, -3.3896802963225827e-13, 8.586062056277845e-15,
    -2.174868698558062e-16, 5.5090028283602295e-18, -1.3954464685812525e-19)

// Of exp(-x) I0(x) for x up to 8, in x / 4 - 1.
TT_TABLE(I0_SMALL, 29,
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764, 0.049305284239670705,
    -0.02373741480589947, 0.010546460394594998, -0.004324309995050576, 0.0016394756169413357, -0.0005763755745385824,
    0.00018850288509584165, -5.754195010082104e-05, 1.6448448070728896e-05, -4.4167383584587505e-06,
    1.1173875391201037e-06, -2.670793853940612e-07, 6.046995022541919e-08, -1.300025009986248e-08,
    2.6598237246823866e-09, -5.189795601635263e-10, 9.675809035373237e-11, -1.7268262914415555e-11, 2.95505266312964e-12,
    -4.85644678311193e-13, 7.676185498604936e-14, -1.1685332877993451e-14, 1.715391285555133e-15, -2.431279846547955e-16,
    3.3307945188222384e-17)

// Of sqrt(x) exp(-x) I0(x) for x from 8, in 16 / x - 1.
TT_TABLE(I0_LARGE, 23,
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06, 2.0489185894690636e-07,
    2.266668990498178e-08, 3.396232025708386e-09, 4.94060238822497e-10, 1.1889147107846437e-11, -3.1499165279632416e-11,
    -1.3215811840447713e-11, -1.7941785315068062e-12, 7.180124451383666e-13, 3.8527783827421426e-13,
    1.54008621752141e-14, -4.150569347287222e-14, -9.554846698828307e-15, 3.8116806693526224e-15, 1.7725601330565275e-15,
    -3.4254856196772313e-16, -2.827623980516602e-16, 3.4612228676982304e-17, 4.4656214202961385e-17)

// Of exp(-x) I1(x) / x for x up to 8, in x / 4 - 1.
TT_TABLE(I1_SMALL, 28,
    0.12629359322181682, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499, 0.024726449030626516,
    -0.010564084894626197, 0.004156422944312888, -0.0015135724506312532, 0.0005122859561685758, -0.00016176081582589674,
    4.781565107550054e-05, -1.3273163656039436e-05, 3.4702513081376785e-06, -8.568720264695455e-07,
    2.0032947535521353e-07, -4.445059128796328e-08, 9.381537386495773e-09, -1.8872497517228294e-09,
    3.625590281552117e-10, -6.663489723502027e-11, 1.1736186298890901e-11, -1.9839743977649436e-12,
    3.223793365945575e-13, -5.042185504727912e-14, 7.600684294735408e-15, -1.1055969477353862e-15,
    1.5536319577362005e-16, -2.111421214358166e-17)

// Of sqrt(x) exp(-x) I1(x) for x from 8, in 16 / x - 1.
TT_TABLE(I1_LARGE, 23,
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06, -2.512236237870209e-07,
    -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10, -1.8974958123505413e-11,
    3.2526035830154884e-11, 1.412580743661378e-11, 2.0356285441470896e-12, -7.198551776245908e-13,
    -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14, 1.0420276984128804e-14,
    -3.8144030724370075e-15, -1.8803547755107837e-15, 3.3082023109209413e-16, 2.9626289976459683e-16,
    -3.2095259219942046e-17, -4.6503053684887017e-17)

// Of J0(x) for x up to 8, in x^2 / 32 - 1.
TT_TABLE(J0_SMALL, 17,
    0.15772797147489012, -0.008723442352852221, 0.2651786132033368, -0.37009499387264977, 0.15806710233209725,
    -0.034893769411408884, 0.004819180069467605, -0.00046062616620627504, 3.246032882100508e-05, -1.7619469077621507e-06,
    7.608163592418782e-08, -2.679253530557673e-09, 7.848696314479465e-11, -1.9438346867370164e-12, 4.125320595634374e-14,
    -7.588508125447546e-16, 1.2218515873961411e-17)

// Of J1(x) / x for x up to 8, in x^2 / 32 - 1.
TT_TABLE(J1_SMALL, 16,
    0.08104484632565812, -0.1489751450676521, 0.1609992623572097, -0.08268049176681791, 0.022213639654966037,
    -0.003646940600769276, 0.0004050337728354822, -3.255554866857259e-05, 1.9858774049915165e-06, -9.521984756750436e-08,
    3.687133759097148e-09, -1.1780266226958847e-10, 3.160154580348003e-12, -7.221755239651773e-14,
    1.4232144003513942e-15, -2.4441972916190464e-17)

// Of Y0(x) - 2 / pi log(x) J0(x) for x up to 8, in x^2 / 32 - 1.
TT_TABLE(Y0_SMALL, 17,
    -0.03314611320328494, -0.2744743055297453, 0.17903431407718265, 0.26156734625504663, -0.17730201278114358,
    0.04719668959576339, -0.007287962479552079, 0.0007531135932577742, -5.632079141056987e-05, 3.206532537654801e-06,
    -1.44072332740187e-07, 5.248794787330516e-09, -1.5837552541812015e-10, 4.02633081830612e-12, -8.747341203310769e-14,
    1.6434898714919468e-15, -2.6977881152566837e-17)

// Of (Y1(x) - 2 / pi (log(x) J1(x) - 1 / x)) / x for x up to 8, in x^2 / 32 - 1.
TT_TABLE(Y1_SMALL, 16,
    0.0025380132357417816, -0.01608717304766875, -0.09591204536083074, 0.08445197259652346, -0.028328123944594365,
    0.005289897544167113, -0.0006414551451326356, 5.505982873338744e-05, -3.53808001868935e-06, 1.7707804556154404e-07,
    -7.11055004989928e-09, 2.344337905911516e-10, -6.4651518414115946e-12, 1.51429151205002e-13, -3.0511859694473254e-15,
    5.34668038572867e-17)

// The part in phase of J0(x) sqrt(pi x / 2) for x from 8, in 128 / x^2 - 1.
TT_TABLE(P0, 13,
    0.9994603493475187, -0.0005365220468132117, 3.0751847875194745e-06, -5.1705945376060975e-08, 1.6306464635151382e-09,
    -7.86409137723707e-11, 5.168262387349193e-12, -4.3045788699253914e-13, 4.3265957431549404e-14,
    -5.069034095935236e-15, 6.748072215733873e-16, -1.0011513723467786e-16, 1.6305919233744186e-17)

// The part out of phase, times x.
TT_TABLE(Q0, 15,
    -0.12444683684269607, 0.0005470815954089319, -5.9315987288485175e-06, 1.4377965798375193e-07, -5.817532749493056e-09,
    3.376097523734991e-10, -2.565397936797308e-11, 2.404916100281365e-12, -2.6690625482579414e-13,
    3.4041800321963686e-14, -4.87994410531204e-15, 7.729703176242605e-16, -1.3348852171502517e-16,
    2.4865952389390515e-17, -4.952892629886516e-18)

// The part in phase of J1(x) sqrt(pi x / 2) for x from 8, in 128 / x^2 - 1.
TT_TABLE(P1, 13,
    1.0009030408600137, 0.0008989898330859408, -3.987284300488908e-06, 6.177633960644299e-08, -1.8718907491063067e-09,
    8.816898659582339e-11, -5.704863640395645e-12, 4.699195515230542e-13, -4.6842237839904895e-14, 5.452674896044717e-15,
    -7.221180842274018e-16, 1.0667689114335412e-16, -1.7312313216116335e-17)

// The part out of phase, times x.
TT_TABLE(Q1, 15,
    0.3742222965562826, -0.0007702178839325664, 7.3108922063643636e-06, -1.676782510726674e-07, 6.583354662120443e-09,
    -3.749090950541556e-10, 2.8121750359748866e-11, -2.61145253946232e-12, 2.8774212663332235e-13,
    -3.649001916061838e-14, 5.206626366226707e-15, -8.215318025458595e-16, 1.4141084390211833e-16,
    -2.626761589838529e-17, 5.2192649196714085e-18)

// Of K0(x) + log(x / 2) I0(x) for x up to 2, in x^2 / 2 - 1.
TT_TABLE(K0_SMALL, 10,
    -0.2676636966169514, 0.3442898999246285, 0.0359799365153615, 0.001264615411446926, 2.286212103119452e-05,
    2.5347910790261494e-07, 1.904516377220209e-09, 1.0349695257633625e-11, 4.2598161427910826e-14,
    1.3744654358807508e-16)

// Of x (K1(x) - log(x / 2) I1(x)) for x up to 2, in x^2 / 2 - 1.
TT_TABLE(K1_SMALL, 10,
    0.7626501136694739, -0.3531559607765449, -0.12261118082265715, -0.006975723859639864, -0.0001730288957513052,
    -2.4334061415659684e-06, -2.213387630734726e-08, -1.4114883926335278e-10, -6.666901694199329e-13,
    -2.427449850519366e-15)

// Of sqrt(x) exp(x) K0(x) for x from 2, in 4 / x - 1.
TT_TABLE(K0_LARGE, 24,
    1.2201515410329777, -0.0314481013119645, 0.0015698838857300533, -0.00012849549581627802, 1.3949813718876499e-05,
    -1.8317555227191195e-06, 2.766813639445015e-07, -4.660489897687948e-08, 8.574034017414227e-09,
    -1.6975345093890614e-09, 3.5773972814003283e-10, -7.957489244477396e-11, 1.8559491149549264e-11,
    -4.514597883374519e-12, 1.1403405882073441e-12, -2.9800969231481784e-13, 8.032890775068375e-14,
    -2.2275133267462965e-14, 6.340076476276646e-15, -1.848593377920907e-15, 5.5120559994043335e-16,
    -1.6782311257549006e-16, 5.2103917776435543e-17, -1.6475805939842632e-17)

// Of sqrt(x) exp(x) K1(x) for x from 2, in 4 / x - 1.
TT_TABLE(K1_LARGE, 24,
    1.3603130952422213, 0.10392373657681724, -0.002857816859622779, 0.00019521551847135162, -1.936197974166083e-05,
    2.406484947837217e-06, -3.5019606030878126e-07, 5.7410841254500495e-08, -1.0345762465678097e-08,
    2.0150497551970347e-09, -4.1903547593419254e-10, 9.218315187605315e-11, -2.129967838427791e-11,
    5.139639673482343e-12, -1.2891739609498229e-12, 3.348419666052243e-13, -8.976705182010146e-14,
    2.4771544242195988e-14, -7.019837089214769e-15, 2.038703166239861e-15, -6.057047270643018e-16,
    1.8380935752430455e-16, -5.689462849193648e-17, 1.7940510478863572e-17)

// Of Ai(x) for x from -4 to 2, in (x + 1) / 3.
TT_TABLE(AIRY_MIDDLE, 32,
    0.06078525685079726, 0.18996030881729123, -0.250924387032336, -0.09512014013503055, 0.20236324198370076,
    -0.06418728306305249, -0.026814703186039963, 0.024051904281273857, -0.00413259164974895, -0.0020196817905494225,
    0.0011250768750654559, -0.00011697538709676606, -7.125499253060682e-05, 2.8167833107042442e-05,
    -1.7594742389691562e-06, -1.4587201524168717e-06, 4.3887479584360325e-07, -1.4627095866197507e-08,
    -1.9495992841846798e-08, 4.660552774163884e-09, -5.106245117904234e-11, -1.8343326708789196e-10,
    3.5857642041278925e-11, 2.658241327479573e-13, -1.2805447574198059e-12, 2.0885896604502407e-13,
    4.8741837202287105e-15, -6.895080927885035e-15, 9.51965014570017e-16, 3.5978991422145034e-17,
    -2.9502705833721254e-17, 3.483989442459416e-18)

// Of 2 sqrt(pi) x^(1/4) exp(z) Ai(x) for x from 2 and z = 2/3 x^(3/2), in 2 z(2) / z - 1.
TT_TABLE(AIRY_LARGE, 24,
    0.9844053049171552, -0.014792784850104199, 0.0007327177465426715, -6.12595423417825e-05, 6.83476697557269e-06,
    -9.237229735403982e-07, 1.436225340438052e-07, -2.489319422322096e-08, 4.709793440054328e-09, -9.583863708112733e-10,
    2.0745855483677591e-10, -4.737267332192277e-11, 1.1336099808224236e-11, -2.827706782319351e-12,
    7.320712095125598e-13, -1.9599793911089723e-13, 5.4101162570683925e-14, -1.5356466802223836e-14,
    4.472340393300025e-15, -1.3338094674756681e-15, 4.066582046456231e-16, -1.265583225645289e-16, 4.015126334015871e-17,
    -1.2969972135960937e-17)

// The part of Ai(-x) sqrt(pi) x^(1/4) in phase with sin(z + pi / 4), for x from 4, in 2 (z(4) / z)^2 - 1.
TT_TABLE(AIRY_IN_PHASE, 17,
    0.9993708890742778, -0.0006216836584374116, 7.181193774368645e-06, -2.316269813501758e-07, 1.3216283888528755e-08,
    -1.0938736172758127e-09, 1.1794620737908535e-10, -1.5518841909929856e-11, 2.386927411492466e-12,
    -4.16552889201035e-13, 8.071678110741467e-14, -1.708757321110567e-14, 3.902945148540815e-15, -9.523976784907064e-16,
    2.4632810885752603e-16, -6.709077463464858e-17, 1.913939683718707e-17)

// The part out of phase, times z.
TT_TABLE(AIRY_ACROSS, 21,
    0.06882170556308001, -0.0006089151840832694, 1.3174151014089972e-05, -6.014071912908298e-07, 4.327537342298499e-08,
    -4.247731732954726e-09, 5.232285376834493e-10, -7.672290975115024e-11, 1.2923809452698712e-11, -2.43852975710829e-12,
    5.059047237872084e-13, -1.1378513792256329e-13, 2.7441377308322258e-14, -7.03448211263258e-15,
    1.9032114367198917e-15, -5.403040541409308e-16, 1.6016711026585234e-16, -4.9375274403528065e-17,
    1.5773435797781153e-17, -5.206129581838458e-18, 1.7706787947400164e-18)

}  // namespace tables

// A sum of Chebyshev polynomials at t between -1 and 1, by Clenshaw's recurrence.
template <typename Table, typename T>
TT_INLINE T chebyshev(T t) {
    constexpr typename Table::template Of<T> c{};
    const T twice = t * T(2);
    T one = T(0), two = T(0);
#pragma unroll
    for (int k = Table::COUNT - 1; k > 0; k--) {
        const T next = twice * one - two + c.at[k];
        two = one;
        one = next;
    }
    return t * one - two + c.at[0];
}

// A polynomial, its constant coefficient first, by Horner's rule.
template <typename Table, typename T>
TT_INLINE T polynomial(T x) {
    constexpr typename Table::template Of<T> c{};
    T found = c.at[Table::COUNT - 1];
#pragma unroll
    for (int k = Table::COUNT - 2; k >= 0; k--) found = found * x + c.at[k];
    return found;
}

template <typename T> TT_INLINE T infinity() { return T(limits<T>::highest()); }
template <typename T> TT_INLINE T pi() { return T(3.14159265358979323846); }

// --- error functions ---------------------------------------------------------------------------------------------------

// exp(x^2) erfc(x) of numbers that are not negative.
template <typename T>
TT_INLINE T scaled_tail(T size) {
    if (size == infinity<T>()) return T(0);
    return chebyshev<tables::ERFCX>((size - T(4)) / (size + T(4))) / (size * T(2) + T(1));
}

// exp(x^2) or exp(-x^2); a short x has an exact square, and the remainder goes into a second factor.
template <typename T>
TT_INLINE T exp_square(T size, T sign) {
    const T whole = math::floor(size * T(16)) * T(0.0625), rest = (size - whole) * (size + whole);
    return math::exp(whole * whole * sign) * math::exp(rest * sign);
}

template <typename T>
TT_INLINE T erfcx(T x) {
    const T size = math::fabs(x), tail = scaled_tail(size);
    // Below -30 the result is infinite in every dtype.
    return x < T(0) ? exp_square(size < T(30) ? size : T(30), T(1)) * T(2) - tail : tail;
}

// x >= 0 with erf(x) = inner and erfc(x) = outer, of which each is exact where it is small: S. Winitzki's approximation, then
// steps of Halley's method.
template <typename T>
TT_INLINE T inverse_error(T inner, T outer) {
    if (outer == T(0)) return infinity<T>();
    const T logarithm = math::log(outer * (inner + T(1)));
    const T middle = logarithm * T(0.5) + T(2 / (3.14159265358979323846 * 0.147)), product = logarithm * T(-1 / 0.147);
    T x = math::sqrt(product / (math::sqrt(middle * middle + product) + middle));
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const T miss = inner < T(0.5) ? math::erf(x) - inner : outer - math::erfc(x);
        const T step = miss / exp_square(x, T(-1)) * T(0.88622692545275801365);
        x -= step / (x * step + T(1));
    }
    return x;
}

template <typename T>
TT_INLINE T erfinv(T y) {
    const T size = math::fabs(y);
    if (y == T(0)) return y;
    return math::copysign(inverse_error(size, T(1) - size), y);
}

template <typename T> TT_INLINE T ndtr(T x) { return math::erfc(x * T(-0.70710678118654752440)) * T(0.5); }

template <typename T>
TT_INLINE T ndtri(T p) {
    const T rest = T(1) - p, outer = (p < rest || p != p ? p : rest) * T(2);
    const T size = inverse_error(T(1) - outer, outer) * T(1.41421356237309504880);
    return p < T(0.5) ? -size : size;
}

template <typename T>
TT_INLINE T log_ndtr(T x) {
    if (x == -infinity<T>()) return x;
    const T scaled = x * T(0.70710678118654752440);
    if (x < T(-1)) return math::log(erfcx(-scaled) * T(0.5)) - scaled * scaled;
    return math::log1p(math::erfc(scaled) * T(-0.5));
}

// --- functions of the gamma function -----------------------------------------------------------------------------------

template <typename T>
TT_INLINE T digamma(T x) {
    if (x == T(0)) return -(T(1) / x);
    const bool negative = x < T(0);
    const T a = negative ? T(1) - x : x, rest = x - math::rint(x);
    if (negative && rest == T(0)) return math::nan<T>();
    const bool few = a < T(10);
    const T z = few ? a + T(10) : a, inverse = T(1) / z, square = inverse * inverse;
    T found = math::log(z) - (inverse * T(0.5) + polynomial<tables::DIGAMMA>(square) * square);
    if (few) {
        T steps = T(1) / a;
        for (int k = 1; k < 10; k++) steps += T(1) / (a + T(k));
        found -= steps;
    }
    return negative ? found - T(1) / math::tan(rest * pi<T>()) * pi<T>() : found;
}

// The sum of (a + k)^-s over all k from 0, of positive a, by Euler's and Maclaurin's formula.
template <typename T>
TT_APART T zeta_sum(T s, T a) {
    // The more steps, the larger s: the formula's terms grow with s over a.
    const int steps = 12 + (s < T(40) ? int(s) : 40);
    T total = T(0);
    const T eps = sizeof(T) == 8 ? T(1.1102230246251565e-16) : T(5.9604645e-8);
    if (a > T(1e8)) return (T(1) / (s - T(1)) + T(0.5) / a) * math::pow(a, T(1) - s);
    for (int k = 0; k < steps; k++) {
        const T term = math::pow(a + T(k), -s);
        total += term;
        if (term < total * eps) return total;
    }
    const T w = a + T(steps), power = math::pow(w, -s), square = w * w;
    total += power * (w / (s - T(1))) + power * T(0.5);
    constexpr typename tables::BERNOULLI::template Of<T> b{};
    T factor = power * s / w;
#pragma unroll
    for (int j = 0; j < tables::BERNOULLI::COUNT; j++) {
        total += factor * b.at[j];
        factor *= (s + T(2 * j + 1)) * (s + T(2 * j + 2)) / square;
    }
    return total;
}

// Of negative a that is no whole number, for a whole s: both sides of the sum over all integers k of (a + k)^-s, which depends on
// the fraction of a only, less the side that does not belong to it.
template <typename T>
TT_APART T zeta_below(T s, T a) {
    const T rest = a - math::rint(a), sign = math::fmod(s, T(2)) == T(1) ? T(-1) : T(1);
    const T near = math::pow(math::fabs(rest), -s) * (rest < T(0) ? sign : T(1));
    if (math::isinf(near)) return near;
    return near + (zeta_sum(s, T(1) + rest) + sign * (zeta_sum(s, T(1) - rest) - zeta_sum(s, T(1) - a)));
}

// In the order of cases that SciPy and PyTorch have.
template <typename T>
TT_INLINE T zeta(T s, T a) {
    const T inf = infinity<T>();
    if (s == T(1)) return inf;
    if (s < T(1)) return math::nan<T>();
    if (a <= T(0) && a == math::floor(a)) return inf;
    if (s != s || a != a || (a <= T(0) && s != math::floor(s))) return math::nan<T>();
    if (a == inf) return T(0);
    return a > T(0) ? zeta_sum(s, a) : zeta_below(s, a);
}

// The n-th derivative of digamma, n > 0.
template <typename T>
TT_APART T polygamma(T n, T x) {
    const T sign = math::fmod(n, T(2)) == T(1) ? T(1) : T(-1);
    if (x != x) return x;
    if (x <= T(0) && x == math::rint(x)) return sign * infinity<T>();
    const T s = n + T(1);
    return sign * math::tgamma(s) * (x > T(0) ? zeta_sum(s, x) : zeta_below(s, x));
}

// u - log(1 + u), which cancels for small u.
TT_INLINE double log1p_rest(double u) {
    if (math::fabs(u) > 0.05) return u - math::log1p(u);
    double term = u * u, found = 0.0;
    for (int k = 2; k < 16; k++) {
        found += term / k;
        term *= -u;
    }
    return found;
}

// The logarithm of x^a exp(-x) / gamma(a), with the digits of float64 also where its terms are large and cancel.
TT_APART double log_gamma_density(double a, double x) {
    if (a < 100.0) return a * math::log(x) - x - math::lgamma(a);
    const double over = 1.0 / a, stirling = over * (1.0 / 12 - over * over * (1.0 / 360 - over * over / 1260));
    return 0.5 * math::log(a * 0.15915494309189533577) - a * log1p_rest((x - a) / a) - stirling;
}

// Of large a: N. M. Temme's expansion, of which the second term is the last that counts.
template <typename T>
TT_APART T far_incomplete_gamma(T a, T x, bool upper) {
    const double u = (double(x) - double(a)) / double(a), half = log1p_rest(u);
    const double eta = math::copysign(math::sqrt(2.0 * half), u), at = eta * math::sqrt(0.5 * double(a));
    const double bend = math::fabs(u) < 1e-4 ? -1.0 / 3 + u / 12 : 1.0 / u - 1.0 / eta;
    const double rest = math::exp(-half * double(a)) / math::sqrt(6.28318530717958647693 * double(a)) * bend;
    return T(upper ? 0.5 * math::erfc(at) + rest : 0.5 * math::erfc(-at) - rest);
}

// log(gamma(1 + a)), relative to which 1 + a is not rounded where a is small.
TT_INLINE double lgamma1p(double a) {
    if (a > 1e-3) return math::lgamma(1.0 + a);
    return a * (-0.57721566490153286061 + a * (0.82246703342411321824 - a * (0.40068563438653142847 -
           a * (0.27058080842778454788 - a * 0.20738555102867398527))));
}

// The upper function of small x, where 1 less the lower one would cancel.
TT_APART double near_upper_gamma(double a, double x) {
    double power = 1.0, sum = 0.0;
    for (int n = 1; n < 40; n++) {
        power *= -x / n;
        sum += power / (a + n);
    }
    const double logarithm = a * math::log(x) - lgamma1p(a);
    return -math::expm1(logarithm) - math::exp(logarithm) * a * sum;
}

// The regularised incomplete gamma function, the upper or the lower one.
template <typename T>
TT_APART T incomplete_gamma(T a, T x, bool upper) {
    const T inf = infinity<T>();
    if (!(a >= T(0)) || !(x >= T(0)) || (a == T(0) && x == T(0)) || (a == inf && x == inf)) return math::nan<T>();
    if (x == T(0) || a == inf) return upper ? T(1) : T(0);
    if (a == T(0) || x == inf) return upper ? T(0) : T(1);
    const T eps = (sizeof(T) == 8 ? T(2.220446049250313e-16) : T(1.1920929e-7)) / T(4);
    const double log_scale = log_gamma_density(double(a), double(x));
    if (a > T(1e8)) return far_incomplete_gamma(a, x, upper);
    if (upper && x <= T(1.1) && (x <= T(0.5) ? T(-0.4) / math::log(x) >= a : x * T(1.1) >= a)) {
        return T(near_upper_gamma(double(a), double(x)));
    }
    constexpr int LONGEST = 100000;  // around x = a there are some 9 sqrt(a) terms
    if (x < a + T(1)) {
        T term = T(1), total = T(1);
        for (int n = 1; n < LONGEST && term > total * eps; n++) {
            term *= x / (a + T(n));
            total += term;
        }
        const T lower = total * T(math::exp(log_scale) / double(a));
        return upper ? T(1) - lower : lower;
    }
    // Lentz' method for the continued fraction.
    const T tiny = T(1e-30);
    T b = x - a + T(1), c = T(1) / tiny, d = T(1) / b, found = d;
    for (int n = 1; n < LONGEST; n++) {
        const T factor = (a - T(n)) * T(n);
        b += T(2);
        d = factor * d + b;
        c = b + factor / c;
        d = T(1) / (math::fabs(d) < tiny ? tiny : d);
        c = math::fabs(c) < tiny ? tiny : c;
        const T change = c * d;
        found *= change;
        if (math::fabs(change - T(1)) <= eps) break;
    }
    found *= T(math::exp(log_scale));
    return upper ? found : T(1) - found;
}

// --- Bessel functions --------------------------------------------------------------------------------------------------

// I of order 0 times exp(-x), and that of order 1 over x, of numbers that are not negative.
template <typename T>
TT_INLINE T i0e(T size) {
    if (size < T(8)) return chebyshev<tables::I0_SMALL>(size * T(0.25) - T(1));
    return chebyshev<tables::I0_LARGE>(T(16) / size - T(1)) / math::sqrt(size);
}
template <typename T>
TT_INLINE T i1e(T size) {
    if (size < T(8)) return size * chebyshev<tables::I1_SMALL>(size * T(0.25) - T(1));
    return chebyshev<tables::I1_LARGE>(T(16) / size - T(1)) / math::sqrt(size);
}
// A zero has no sign, as in SciPy.
template <typename T> TT_INLINE T odd(T x, T found) { return x < T(0) ? -found : found; }
// The factor exp(-x) is taken away in two steps, which overflow last.
template <typename T>
TT_INLINE T grown(T scaled, T size) {
    const T root = math::exp(size * T(0.5));
    return scaled * root * root;
}

// J and Y of numbers from 8 on.
template <int ORDER, bool SECOND, typename T>
TT_INLINE T wave(T x) {
    const T over = T(1) / x, t = over * over * T(128) - T(1), s = math::sin(x), c = math::cos(x);
    T inner, outer;
    if constexpr (ORDER == 0) inner = chebyshev<tables::P0>(t), outer = chebyshev<tables::Q0>(t) * over;
    else inner = chebyshev<tables::P1>(t), outer = chebyshev<tables::Q1>(t) * over;
    // cos(x - pi / 4) and sin(x - pi / 4) times the root of 2; a quarter of a turn more for order 1.
    const T first = ORDER ? s - c : c + s, second = ORDER ? -(c + s) : s - c;
    const T found = SECOND ? inner * second + outer * first : inner * first - outer * second;
    return found * (math::rsqrt(x) * T(0.56418958354775628695));
}
template <typename T> TT_INLINE T squared(T x) { return x * x * T(0.03125) - T(1); }

template <typename T>
TT_INLINE T bessel_j0(T x) {
    const T size = math::fabs(x);
    return size < T(8) ? chebyshev<tables::J0_SMALL>(squared(size)) : wave<0, false>(size);
}
template <typename T>
TT_INLINE T bessel_j1(T x) {
    const T size = math::fabs(x);
    return size < T(8) ? x * chebyshev<tables::J1_SMALL>(squared(size)) : odd(x, wave<1, false>(size));
}
template <typename T>
TT_INLINE T bessel_y0(T x) {
    if (x < T(0)) return math::nan<T>();
    if (x == T(0)) return -infinity<T>();
    if (!(x < T(8))) return wave<0, true>(x);
    const T t = squared(x);
    return math::log(x) * chebyshev<tables::J0_SMALL>(t) * T(0.63661977236758134308) + chebyshev<tables::Y0_SMALL>(t);
}
template <typename T>
TT_INLINE T bessel_y1(T x) {
    if (x < T(0)) return math::nan<T>();
    if (x == T(0)) return -infinity<T>();
    if (!(x < T(8))) return wave<1, true>(x);
    const T t = squared(x), near = math::log(x) * x * chebyshev<tables::J1_SMALL>(t) - T(1) / x;
    return near * T(0.63661977236758134308) + x * chebyshev<tables::Y1_SMALL>(t);
}
template <typename T>
TT_INLINE T spherical_j0(T x) {
    if (x == T(0)) return T(1);
    return math::fabs(x) == infinity<T>() ? T(0) : math::sin(x) / x;
}

// K of order 0 or 1, times exp(x) if scaled.
template <int ORDER, bool SCALED, typename T>
TT_INLINE T modified_k(T x) {
    if (x < T(0) || x != x) return math::nan<T>();
    if (x == T(0)) return infinity<T>();
    if (x <= T(2)) {
        const T t = x * x * T(0.5) - T(1), half_log = math::log(x) - T(0.69314718055994530942);
        T near;
        if constexpr (ORDER) near = half_log * grown(i1e(x), x) + chebyshev<tables::K1_SMALL>(t) / x;
        else near = chebyshev<tables::K0_SMALL>(t) - half_log * grown(i0e(x), x);
        return SCALED ? near * math::exp(x) : near;
    }
    const T t = T(4) / x - T(1);
    T far;
    if constexpr (ORDER) far = chebyshev<tables::K1_LARGE>(t);
    else far = chebyshev<tables::K0_LARGE>(t);
    far /= math::sqrt(x);
    return SCALED ? far : far * math::exp(-x);
}

template <typename T>
TT_INLINE T airy_ai(T x) {
    const T third = T(0.66666666666666666667);
    if (x > T(2)) {
        if (x == infinity<T>()) return math::nan<T>();  // as in SciPy and PyTorch
        const T z = x * math::sqrt(x) * third;
        const T decay = chebyshev<tables::AIRY_LARGE>(T(3.77123616632825319870) / z - T(1));
        return decay * math::rsqrt(math::sqrt(x)) * T(0.28209479177387814347) * math::exp(-z);
    }
    if (x == -infinity<T>()) return math::nan<T>();
    if (x < T(-4)) {
        // Farther below, powers of float32 overflow, and it is a small number whose phase has no digit.
        const T below = -x, far = math::minimum(below, T(1e25)), z = far * math::sqrt(far) * third;
        const T near = T(5.33333333333333333333) / z;
        const T t = near * near * T(2) - T(1), s = math::sin(z), c = math::cos(z);
        const T found = (s + c) * chebyshev<tables::AIRY_IN_PHASE>(t) - (c - s) * (chebyshev<tables::AIRY_ACROSS>(t) / z);
        return found * math::rsqrt(math::sqrt(below)) * T(0.39894228040143267794);
    }
    return chebyshev<tables::AIRY_MIDDLE>((x + T(1)) * T(0.33333333333333333333));
}

// --- entropy and log-odds ----------------------------------------------------------------------------------------------

template <typename T>
TT_INLINE T entropy(T x) {
    if (x < T(0)) return -infinity<T>();
    return x == T(0) ? T(0) : -(x * math::log(x));
}
template <typename T>
TT_INLINE T logit(T x) {
    // Near 1/2, where the quotient is close to 1, by its distance from 1.
    if (math::fabs(x - T(0.5)) < T(0.25)) return math::log1p((x - T(0.5)) * T(2) / (T(1) - x));
    return math::log(x) - math::log1p(-x);
}

// --- orthogonal polynomials --------------------------------------------------------------------------------------------
// By the recurrences that define them.  Each family is a struct with the polynomial of degree 1, in which a zero has no sign,
// and the step from those of degree k and k - 1 to k + 1.

struct ChebyshevT {
    static constexpr bool HERMITE = false;
    template <typename T> TT_INLINE static T first(T x) { return x + T(0); }
    template <typename T> TT_INLINE static T next(T, T x, T p, T q) { return x * T(2) * p - q; }
};
struct ChebyshevU : ChebyshevT {
    template <typename T> TT_INLINE static T first(T x) { return x * T(2) + T(0); }
};
struct ChebyshevV : ChebyshevT {
    template <typename T> TT_INLINE static T first(T x) { return x * T(2) - T(1); }
};
struct ChebyshevW : ChebyshevT {
    template <typename T> TT_INLINE static T first(T x) { return x * T(2) + T(1); }
};
struct HermiteH {
    static constexpr bool HERMITE = true;
    template <typename T> TT_INLINE static T first(T x) { return x * T(2) + T(0); }
    template <typename T> TT_INLINE static T next(T k, T x, T p, T q) { return x * T(2) * p - q * (T(2) * k); }
};
struct HermiteHe {
    static constexpr bool HERMITE = true;
    template <typename T> TT_INLINE static T first(T x) { return x + T(0); }
    template <typename T> TT_INLINE static T next(T k, T x, T p, T q) { return x * p - q * k; }
};
struct Laguerre {
    static constexpr bool HERMITE = false;
    template <typename T> TT_INLINE static T first(T x) { return T(1) - x; }
    template <typename T> TT_INLINE static T next(T k, T x, T p, T q) { return ((T(2) * k + T(1) - x) * p - q * k) / (k + T(1)); }
};
struct Legendre {
    static constexpr bool HERMITE = false;
    template <typename T> TT_INLINE static T first(T x) { return x + T(0); }
    template <typename T> TT_INLINE static T next(T k, T x, T p, T q) { return (x * (T(2) * k + T(1)) * p - q * k) / (k + T(1)); }
};

// Of a negative degree they are 0.  A degree above the highest is noted at the address that is number 2.
template <typename Family, bool SHIFTED, typename T>
TT_INLINE T orthogonal(T x, T degree, const Numbers& n) {
    constexpr int HIGHEST = 1 << 16;
    if (degree != degree) return degree;
    degree = math::trunc(degree);
    if (degree < T(0)) return T(0);
    // They overflow, and are NaN from a degree on, as in PyTorch.
    if (Family::HERMITE && degree > T(sizeof(T) == 4 ? 128 : 512)) return math::nan<T>();
    if (degree > T(HIGHEST)) {
        note_failure(uint64(n.given[2].whole), n.given[1].whole, degree < T(9e18) ? int64(degree) : int64(9e18), 0, HIGHEST);
        return math::nan<T>();
    }
    if (SHIFTED) x = x * T(2) - T(1);
    T before = T(1), found = degree == T(0) ? T(1) : Family::first(x);
    for (int k = 1; k < int(degree); k++) {
        const T next = Family::next(T(k), x, found, before);
        before = found;
        found = next;
    }
    return found;
}

// --- functors ----------------------------------------------------------------------------------------------------------

#define TT_ONE(Name, result) \
    struct Name { \
        template <typename T> TT_INLINE static T of(T x, const Numbers& n) { return result; } \
    };
#define TT_TWO(Name, result) \
    struct Name { \
        template <typename T> TT_INLINE static T of(T x, T y, const Numbers& n) { return result; } \
    }; \
    struct Name##Right { /* the second operand is number 0 */ \
        template <typename T> TT_INLINE static T of(T x, const Numbers& n) { return Name::of(x, n.as<T>(0), n); } \
    }; \
    struct Name##Left { /* the first one is */ \
        template <typename T> TT_INLINE static T of(T x, const Numbers& n) { return Name::of(n.as<T>(0), x, n); } \
    };

TT_ONE(Erfcx, erfcx(x))
TT_ONE(Erfinv, erfinv(x))
TT_ONE(Ndtr, ndtr(x))
TT_ONE(Ndtri, ndtri(x))
TT_ONE(LogNdtr, log_ndtr(x))
TT_ONE(Digamma, digamma(x))
TT_ONE(Polygamma, polygamma(n.as<T>(0), x))
TT_TWO(Zeta, zeta(x, y))
TT_TWO(Igamma, incomplete_gamma(x, y, false))
TT_TWO(Igammac, incomplete_gamma(x, y, true))
TT_ONE(I0e, i0e(math::fabs(x)))
TT_ONE(I1e, odd(x, i1e(math::fabs(x))))
TT_ONE(I0, grown(i0e(math::fabs(x)), math::fabs(x)))
TT_ONE(I1, odd(x, grown(i1e(math::fabs(x)), math::fabs(x))))
TT_ONE(BesselJ0, bessel_j0(x))
TT_ONE(BesselJ1, bessel_j1(x))
TT_ONE(BesselY0, bessel_y0(x))
TT_ONE(BesselY1, bessel_y1(x))
TT_ONE(SphericalJ0, spherical_j0(x))
TT_ONE(K0, (modified_k<0, false>(x)))
TT_ONE(K1, (modified_k<1, false>(x)))
TT_ONE(ScaledK0, (modified_k<0, true>(x)))
TT_ONE(ScaledK1, (modified_k<1, true>(x)))
TT_ONE(AiryAi, airy_ai(x))
TT_ONE(Entropy, entropy(x))
TT_ONE(Logit, logit(x))
TT_ONE(LogitWithin, logit(math::minimum(math::maximum(x, n.as<T>(0)), n.as<T>(1))))
TT_TWO(PolynomialT, (orthogonal<ChebyshevT, false>(x, y, n)))
TT_TWO(PolynomialU, (orthogonal<ChebyshevU, false>(x, y, n)))
TT_TWO(PolynomialV, (orthogonal<ChebyshevV, false>(x, y, n)))
TT_TWO(PolynomialW, (orthogonal<ChebyshevW, false>(x, y, n)))
TT_TWO(ShiftedT, (orthogonal<ChebyshevT, true>(x, y, n)))
TT_TWO(ShiftedU, (orthogonal<ChebyshevU, true>(x, y, n)))
TT_TWO(ShiftedV, (orthogonal<ChebyshevV, true>(x, y, n)))
TT_TWO(ShiftedW, (orthogonal<ChebyshevW, true>(x, y, n)))
TT_TWO(PolynomialH, (orthogonal<HermiteH, false>(x, y, n)))
TT_TWO(PolynomialHe, (orthogonal<HermiteHe, false>(x, y, n)))
TT_TWO(PolynomialL, (orthogonal<Laguerre, false>(x, y, n)))
TT_TWO(PolynomialP, (orthogonal<Legendre, false>(x, y, n)))

#undef TT_ONE
#undef TT_TWO
#undef TT_TABLE
#undef TT_APART

}  // namespace special

#endif  // TT_SPECIAL_CUH
