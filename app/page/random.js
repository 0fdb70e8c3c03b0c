// Seeded random numbers: the same seeds give the same stream in every browser.

/** Spread the bits of a 32-bit integer (the finaliser of MurmurHash3). */
function mix(value) {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** Return a generator of numbers, independent for every list of integers. */
export function stream(...seeds) {
  let seed = 0x9e3779b9;
  for (const each of seeds) seed = mix(seed ^ mix(each + 0x7f4a7c15));
  let [a, b, c, counter] = [mix(seed + 1), mix(seed + 2), mix(seed + 3), 1];

  // Doty-Humphrey's sfc32.
  function bits() {
    const sum = (a + b + counter) >>> 0;
    counter = (counter + 1) >>> 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) >>> 0;
    c = (((c << 21) | (c >>> 11)) + sum) >>> 0;
    return sum;
  }
  for (let warm = 0; warm < 12; warm++) bits();

  /** Uniform in (0, 1). */
  const uniform = () => (bits() + 0.5) / 2 ** 32;

  /** A CN(0, 1) sample as [real, imaginary]. */
  function gaussian() {
    const radius = Math.sqrt(-Math.log(uniform()));
    const angle = 2 * Math.PI * uniform();
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  }
  return { uniform, gaussian };
}
