// Package targets is where a step runs: it resolves the members of a target group into databases,
// connects to them, runs a script in batches, collects messages and rows, cancels, and says what an
// error means.
//
// Vocabulary. A [Member] is a row of a target group: a database, or something that stands for many
// databases (a server, an elastic pool, a shard map), included or excluded. A [Target] is one database
// that a step runs on. [Resolve] turns members into targets. [Runner.Run] makes one attempt of a script
// on one target and says how it ended: a [Result], never an error.
//
// What a newcomer gets wrong: that an attempt which ended with an error had no effect. A script that
// was sent may have done anything; only [NotSent] promises that nothing ran, and [Unknown] says that
// nobody can tell (invariant I8).
package targets
