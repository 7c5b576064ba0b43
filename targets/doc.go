// Package targets has the types that all kinds of target share: the members of a target group, a
// [Target], an [Attempt], its [Result], and the classes of errors. Each kind has a package below
// this one that runs a step's command; package mssql runs T-SQL scripts on databases.
//
// A [Member] is a row of a target group: a database, or a server, elastic pool or shard map that
// stands for many databases, included or excluded. A kind's resolver turns members into targets. A
// kind's runner makes one attempt of a command on one target and returns a [Result], never an
// error.
//
// A failed attempt may have had an effect: a command that was sent may have done anything. Only
// [NotSent] guarantees that nothing ran, and [Unknown] means that the outcome cannot be known
// (invariant I8).
package targets
