const FLOORS = require('./scripts/floors.cjs');

const roomPath = room => `^src/${room}/`;

const floorRules = FLOORS.flatMap((rooms, floor) =>
  rooms.map(room => ({
    name: `floor-${floor}-${room}`,
    comment: `src/${room} may import only itself and floors below ${floor}`,
    severity: 'error',
    from: { path: roomPath(room) },
    to: {
      path: '^src/',
      pathNot: [roomPath(room), ...FLOORS.slice(0, floor).flat().map(roomPath)],
    },
  })),
);

/** Libraries that only one room may know. */
const KEEPERS = [
  ['auth', '^node_modules/openid-client/'],
  ['api', '^node_modules/(fastify|@fastify)'],
  ['config', '^node_modules/(js-yaml|yaml)/'],
  ['storage', '^node_modules/(kysely|better-sqlite3|pg)/'],
  ['lib', '^node_modules/(undici|ipaddr.js|pino|prom-client)/'],
  ['targets', '^node_modules/(nodemailer|@aws-sdk|@smithy)/'],
  ['cli', '^node_modules/commander/'],
  ['cli', '^client/'],
];

module.exports = {
  forbidden: [
    ...floorRules,
    ...KEEPERS.map(([room, library]) => ({
      name: `only-${room}-knows-${library.replace(/[^a-z0-9]+/gi, '-')}`,
      severity: 'error',
      from: { path: '^src/', pathNot: roomPath(room) },
      to: { path: library },
    })),
    {
      name: 'the-client-stands-alone',
      severity: 'error',
      from: { path: '^client/src/' },
      to: { path: '^(src|node_modules)/' },
    },
    { name: 'no-cycles', severity: 'error', from: { path: '^(src|client)/' }, to: { circular: true } },
    {
      name: 'no-tests-in-the-product',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.test\\.ts$' },
      to: { path: '^test/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    exclude: { path: '\\.test\\.ts$' },
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { conditionNames: ['source', 'import', 'node', 'default'] },
  },
};
