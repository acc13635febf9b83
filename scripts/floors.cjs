/**
 * The floors of `src/`, ground first. A room imports lower floors and itself: never a neighbour on its floor, never up.
 * ARCHITECTURE.md shows this array, dependency-cruiser enforces it.
 */
module.exports = [
  ['lib'],
  ['events', 'expressions'],
  ['storage'],
  ['pipelines'],
  ['conditions', 'targets'],
  ['auth', 'delivery'],
  ['notifications'],
  ['config'],
  ['resources'],
  ['api'],
  ['app'],
  ['demo'],
  ['cli'],
];
