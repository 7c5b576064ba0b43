// Package process runs processes on the agent's own machine. A step names an entry of the agent's
// configuration; it never gives a path. [NewRunner] checks the entries, and [Runner.Run] carries
// out one attempt: it starts the process without a shell, with an environment, a directory and a
// process group of its own, keeps the output, and ends the whole tree of processes with the
// attempt. DESIGN.md lists the guarantees on each operating system.
//
// A process does not get the agent's environment, only PATH, HOME, LANG, TZ, the variables of its
// entry and JOBAGENT_*. A process that the first one leaves behind is killed. An entry without
// ArgsPattern accepts no arguments of a step. A secret must not be an argument, because every user
// of the machine can list arguments; the standard input is private.
package process
