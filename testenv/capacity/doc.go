// Package capacity simulates large fleets: hundreds of agents, a control database, and weeks of
// schedules, as discrete events without a clock. It predicts how many calls the control database
// gets, how busy it is, and how late runs and schedules are.
//
// Agents decide with package agent/pacing, which the product uses, too: when to make a pass, how
// many tasks to claim, when to deliver outcomes and to renew a lease. The control database is a
// queue with some processors. Each call has a cost that was measured on the embedded server
// ([Embedded]); a factor makes it that of another server.
//
// What the model leaves out: failures and retries, long transactions, waits for locks other than
// that of the advance part of a pass, comparisons of digests, limits, pauses, windows, upkeep,
// people, and memory. A call changes the state of the control database when its work begins.
//
// TestCalibration compares the model with what twenty real agents did (TestFleet in cmd/jobagent).
package capacity
