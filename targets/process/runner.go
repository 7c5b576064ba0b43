package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
)

// Runner runs processes. It implements [targets.ActionRunner] and is safe for concurrent use.
type Runner struct {
	entries map[string]*entry
	workDir string
	host    *host

	grace      time.Duration // between the request to end and the kill
	hurry      time.Duration // the same, when the agent stops or has lost its lease
	drain      time.Duration // for the output, after the last process was killed
	pollMemory time.Duration // between two measurements of a tree

	watch func(output []byte) // gets the output; nil except in tests
}

// Times of an attempt's end. hurry and drain together are shorter than the margin of an agent's
// lease (5 s at the default lease), so that no process outlives the lease.
const (
	defaultGrace = 10 * time.Second
	defaultHurry = 2 * time.Second
	defaultDrain = 2 * time.Second
	defaultPoll  = 250 * time.Millisecond
)

// NewRunner returns a runner. The error lists all faults of the configuration. Processes of dead
// agents that have used the same work directory are killed.
func NewRunner(config Config) (*Runner, error) {
	entries, err := config.entries()
	if err != nil {
		return nil, err
	}
	host, err := newHost(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", config.Names.orFields().Cgroup, err)
	}
	r := &Runner{
		entries: entries, workDir: cmp.Or(config.WorkDir, os.TempDir()), host: host,
		grace: defaultGrace, hurry: defaultHurry, drain: defaultDrain, pollMemory: defaultPoll,
	}
	r.sweep()
	return r, nil
}

// Method describes how an entry is run on this machine.
type Method struct {
	// Entry is the name of the entry.
	Entry string
	// Tree describes how the tree of processes is ended.
	Tree string
	// Memory describes how the memory is limited, or why the entry is refused.
	Memory string
	// Refused means that every attempt fails before it starts.
	Refused bool
	// Exposed is the reason why the process can use every file that the agent can use, keys and
	// configuration included, although the entry does not permit it; empty if it cannot.
	Exposed string
}

// Methods returns how each entry is run on this machine, by name. `jobagent run` logs it.
func (r *Runner) Methods() []Method {
	var all []Method
	for _, e := range r.entries {
		one := Method{Entry: e.Name, Tree: r.host.treeMethod(), Memory: "no limit", Exposed: r.host.exposed(e)}
		if e.MaxMemory > 0 {
			way, err := r.host.memoryWay(e.MemoryLimit)
			one.Memory = size(e.MaxMemory) + " by " + string(way)
			if err != nil {
				one.Memory, one.Refused = err.Error(), true
			}
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Method) int { return cmp.Compare(a.Entry, b.Entry) })
	return all
}

// way is the method that limits the memory of a tree.
type way string

const (
	byNothing      way = ""
	byCgroup       way = "cgroup v2"
	bySystemd      way = "systemd-run"
	byJob          way = "job object"
	byAddressSpace way = "the address space of each process"
	byPolling      way = "polling"
)

// Run makes the attempt. See targets/DESIGN.md for the contract.
func (r *Runner) Run(ctx context.Context, a targets.ActionAttempt) targets.Result {
	start := time.Now()
	t := &attempt{ActionAttempt: a, Runner: r}
	err := t.run(ctx)
	res := t.result(err)
	res.Elapsed = time.Since(start)
	return res
}

// refusal is an error of the definition or of the configuration. Nothing was started.
type refusal struct {
	error
	final bool // another attempt cannot help
}

// Unwrap returns the reason.
func (r *refusal) Unwrap() error { return r.error }

// refuse returns a refusal that names the entry.
func refuse(final bool, entry, format string, args ...any) error {
	return &refusal{&targets.ConfigError{
		Subject: fmt.Sprintf("process %q", entry), Err: fmt.Errorf(format, args...),
	}, final}
}

// check finds the entry of the attempt, and returns an error if the configuration does not permit
// the definition.
func (r *Runner) check(definition *action.Definition) (*entry, error) {
	if definition == nil || definition.Process == nil {
		return nil, refuse(true, "", "the step has no definition of a process")
	}
	p := definition.Process
	e := r.entries[p.Entry]
	if e == nil {
		return nil, refuse(false, p.Entry, "the agent's configuration has no entry of this name in \"processes\"")
	}
	for i, arg := range p.Args {
		switch {
		case e.args == nil:
			return nil, refuse(true, e.Name, "the entry allows no arguments: it has no args_pattern")
		case strings.ContainsRune(arg, 0):
			return nil, refuse(true, e.Name, "argument %d contains NUL", i+1)
		case !e.args.MatchString(arg):
			// The message does not repeat the argument, which may hold a secret.
			return nil, refuse(true, e.Name, "argument %d does not match the entry's args_pattern %q", i+1, e.ArgsPattern)
		}
	}
	if p.MaxMemory < 0 || p.MaxMemory > 0 && p.MaxMemory < minMemory {
		return nil, refuse(true, e.Name, "invalid memory limit %d: want 0 or at least %d bytes", p.MaxMemory, minMemory)
	}
	info, err := os.Stat(e.Path)
	switch {
	case err != nil:
		return nil, refuse(false, e.Name, "the executable file cannot be read: %w", err)
	case info.IsDir():
		return nil, refuse(false, e.Name, "%s is a directory", e.Path)
	}
	return e, nil
}

// ExitError means that a process did not end with a success code.
type ExitError struct {
	// Code is the exit code; 128 plus the number of the signal if a signal ended the process.
	Code int
	// Signal is the name of the signal, as in SIGSEGV; empty if the process exited.
	Signal string
	// Hint is the usual meaning of the code or signal; it may be empty.
	Hint string
}

// Error implements error.
func (e *ExitError) Error() string {
	text := fmt.Sprintf("the process ended with exit code %d", e.Code)
	if e.Signal != "" {
		text = "the process was ended by signal " + e.Signal
	}
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// limitError means that the agent ended a process that exceeded a limit.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

// Errors of the end of an attempt.
var (
	errNotBegun = errors.New("the attempt may not start")
	errNoEnd    = errors.New("the process could not be killed, and may still run")
)
