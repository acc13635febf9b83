import * as argon2 from '@node-rs/argon2';

/** What a password costs by itself. Argument: how many to compare, one after the other. Prints CPU and wall ms of each. */
const times = Number(process.argv[2]);
const password = 'violet-giraffes-mend-9-clocks';
const hash = await argon2.hash(password, { memoryCost: 19_456, timeCost: 2, parallelism: 1 });
const begun = performance.now();
const before = process.cpuUsage();
for (let time = 0; time < times; time++) await argon2.verify(hash, password);
const { user, system } = process.cpuUsage(before);
console.log(
  JSON.stringify({ cpuMs: (user + system) / 1000 / times, ms: (performance.now() - begun) / times }),
);
