// The steps of a program: each is tried, those that fail are named.
let done = 0;
let failed = 0;

export async function step(name, work) {
  try {
    await work();
    done += 1;
  } catch (error) {
    failed += 1;
    console.log(`${name}: ${error.message}`);
  }
}

// Ends the program.
export function end() {
  console.log(failed === 0 ? `${done} steps` : `${failed} of ${done + failed} steps failed`);
  process.exit(failed === 0 ? 0 : 1);
}
