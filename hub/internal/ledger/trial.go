package ledger

// TrialWait is an SQL interval: how long an active integration whose webhook refused
// a delivery to the end is left alone until a parked delivery is tried there.
const TrialWait = `interval '5 minutes'`
