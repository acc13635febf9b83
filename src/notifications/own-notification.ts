/** The notification that Headgate itself has: a failing target is its incident. No other may be called so. */
export const TARGET_HEALTH = 'headgate-target-health';
