// Package process runs processes on the agent's own machine. A step names an entry of the agent's
// configuration; it never gives a path. [NewRunner] checks the entries, and [Runner.Run] carries
// out one attempt: it starts the process without a shell, with an environment, a directory and a
// process group of its own, keeps what the process prints, and ends the whole tree of processes
// with the attempt. DESIGN.md says what each operating system can guarantee.
//
// Common mistakes:
//
//   - To expect the agent's environment. A process gets PATH, HOME, LANG, TZ, the variables of its
//     entry and JOBAGENT_*, and nothing else.
//   - To start a server in the background and to exit. What a process leaves behind is killed.
//   - To leave Entry.ArgsPattern empty where a step gives arguments. An empty pattern allows none.
//   - To pass a secret as an argument. Every user of the machine can list arguments; the standard
//     input is private.
package process
