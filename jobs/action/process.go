package action

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Process runs an entry of the agent's configuration.
type Process struct {
	// Entry is the name of the entry.
	Entry string
	Args  []string
	// Input is the standard input.
	Input string
	// SuccessCodes are the exit codes that count as success; empty means 0 alone.
	SuccessCodes []int
	// MaxMemory in bytes lowers the entry's limit; 0 keeps it.
	MaxMemory int64
	// OutputLimit in bytes bounds stdout and stderr together; 0 means 10 MiB. OutputHalt ends the
	// process when it is exceeded; otherwise the rest is dropped.
	OutputLimit int64
	OutputHalt  bool
}

// processInfo describes the type.
var processInfo = Info{
	Type: TypeProcess, Member: "process", Flag: "process", Usage: "run the `entry` of the agent's configuration; arguments follow JOB and --",
	Does: "runs a process of the agent's machine",
	members: []string{
		"entry", "args", "input", "success_codes", "max_memory_bytes", "output_limit_bytes", "on_output_limit", "callback",
	},
	decode: func(d *Definition, o *object) { d.Process = decodeProcess(o) },
}

func decodeProcess(o *object) *Process {
	p := &Process{
		Entry: o.required("entry"), Args: o.texts("args", maxArgs),
		MaxMemory:   o.integer("max_memory_bytes", 1<<20, 1<<50, 0),
		OutputLimit: o.integer("output_limit_bytes", 1, 1<<40, 0),
		OutputHalt:  o.choice("on_output_limit", "truncate", "truncate", "halt") == "halt",
	}
	p.Input, _ = o.textOrJSON("input")
	for _, e := range o.list("success_codes", 100) {
		n, ok := int64(0), false
		if e.Kind == '0' {
			n, ok = wholeNumber(e.Raw)
		}
		if !ok || n < 0 || n > 1<<32-1 {
			o.faults.add(pathOf(e), "invalid exit code: want a whole number from 0 to %d", int64(1<<32-1))
			continue
		}
		p.SuccessCodes = append(p.SuccessCodes, int(n))
	}
	return p
}

func (p *Process) encode(w *writer) {
	w.text("entry", p.Entry)
	w.texts("args", p.Args)
	w.text("input", p.Input)
	if len(p.SuccessCodes) > 0 {
		w.add("success_codes", p.SuccessCodes)
	}
	w.number("max_memory_bytes", p.MaxMemory)
	w.number("output_limit_bytes", p.OutputLimit)
	if p.OutputHalt {
		w.add("on_output_limit", "halt")
	}
}

func (p *Process) slots(l *slotList) {
	for i := range p.Args {
		l.add(fmt.Sprintf("$.args[%d]", i), placeArg, &p.Args[i])
	}
	l.add("$.input", textPlace(p.Input), &p.Input)
}

var entryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

func (p *Process) check(c checker) {
	if p.Entry != "" && !entryName.MatchString(p.Entry) {
		c.fault("$.entry", "invalid entry %q: want the name of an entry of the agent's configuration, of letters, digits, dots, hyphens and underscores", clip(p.Entry))
	}
	size := 0
	for i, a := range p.Args {
		size += len(c.sample(a, ""))
		if strings.ContainsRune(a, 0) {
			c.fault(fmt.Sprintf("$.args[%d]", i), "invalid argument: want no NUL")
		}
	}
	if size > maxArgBytes {
		c.fault("$.args", "invalid list of %d bytes: want at most %d together", size, maxArgBytes)
	}
	c.limit("$.input", p.Input, "bytes", maxInput)
}

// ProcessPrefix and the name of an entry identify a process where other actions have a host.
const ProcessPrefix = "process:"

func (p *Process) server() (string, error) { return ProcessPrefix + p.Entry, nil }

func (p *Process) addresses(int) []string { return []string{ProcessPrefix + p.Entry} }

func (p *Process) addressed(d *Definition) *string {
	d.Process = &Process{Entry: p.Entry}
	return &d.Process.Entry
}

func (p *Process) copyTo(d *Definition) {
	d.Process = new(*p)
	d.Process.Args = slices.Clone(p.Args)
}

func (p *Process) parts(add func(name, text string)) {
	quoted := []string{p.Entry}
	for _, a := range p.Args {
		quoted = append(quoted, strconv.Quote(a))
	}
	add("process", strings.Join(quoted, " "))
	add("input", p.Input)
	if len(p.SuccessCodes) > 0 {
		add("success", strings.Trim(fmt.Sprint(p.SuccessCodes), "[]"))
	}
	if p.MaxMemory > 0 {
		add("memory", fmt.Sprintf("at most %d bytes", p.MaxMemory))
	}
	if p.OutputLimit > 0 || p.OutputHalt {
		over := "dropped"
		if p.OutputHalt {
			over = "an error"
		}
		add("output", fmt.Sprintf("at most %d bytes, more is %s", p.OutputLimit, over))
	}
}
