// Package sim runs the whole system in virtual time: control database and targets on one embedded server, any number of
// agents, each with a network of its own that may fail. Everything happens in one testing/synctest bubble, so that days take
// seconds; after each scenario the invariants of the design must hold, and so must the ledger that the steps themselves write.
//
// The scenarios are this package's tests:
//
//	go test ./testenv/sim -run TestSweep -sim.full           every control-database call fails in each of five ways
//	go test ./testenv/sim -run TestDays -sim.seed=7 -sim.days=30
//	go test ./testenv/sim -run TestModel -rapid.checks=1000 -rapid.steps=100    random calls against a plain model
package sim
