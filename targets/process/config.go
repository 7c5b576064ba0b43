package process

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Config lists the processes that an agent may run. The zero value allows none.
type Config struct {
	// Entries are the processes, with unique names.
	Entries []Entry
	// Cgroup is the directory of a cgroup v2 that is delegated to the agent, for example
	// /sys/fs/cgroup/system.slice/jobagent.service of a unit with Delegate=yes and
	// DelegateSubgroup=agent. The agent enables the controllers memory and pids there, and makes a
	// child cgroup for each attempt. Empty means the agent's own cgroup: the agent makes children
	// there but enables no controller. Linux only.
	Cgroup string
	// WorkDir is the directory in which each attempt gets a directory of its own; empty means the
	// directory for temporary files.
	WorkDir string
	// Hidden are files and directories of the agent, such as its configuration and its keys. On
	// Linux with Landlock, processes of an agent that is not root can neither read nor change them.
	Hidden []string
	// Names are the names of the settings in errors.
	Names Names
}

// Names are the names of settings in the configuration. An empty name means the name of the field.
type Names struct{ Cgroup, WorkDir, Entries string }

// orFields returns the names that errors use.
func (n Names) orFields() Names {
	return Names{Cgroup: cmp.Or(n.Cgroup, "Cgroup"), WorkDir: cmp.Or(n.WorkDir, "WorkDir"), Entries: cmp.Or(n.Entries, "Entries")}
}

// Entry is a process that steps may run.
type Entry struct {
	// Name is the name of the entry in steps: letters, digits and "_.-", at most 128.
	Name string
	// Path is the absolute path of the executable file.
	Path string
	// Args come before the arguments of the step.
	Args []string
	// ArgsPattern is a regular expression (RE2) that each argument of a step must match as a whole.
	// Empty means that a step may give no arguments.
	ArgsPattern string
	// User runs the process as another user, by name or number, with that user's groups. Only an
	// agent of user root can do this. Empty means the agent's own user. Not on Windows.
	User string
	// Dir is the working directory; empty means the attempt's own directory.
	Dir string
	// Env are environment variables in addition to JOBAGENT_*. The defaults are PATH
	// "/usr/local/bin:/usr/bin:/bin", HOME the attempt's directory, LANG "C.UTF-8" and TZ "UTC"; on
	// Unix, TMPDIR is also the attempt's directory.
	Env map[string]string
	// MaxMemory in bytes bounds the memory of the whole tree of processes; 0 means no limit. A step
	// may lower it.
	MaxMemory int64
	// MaxProcesses bounds the number of processes (threads, where the kernel counts) of the tree;
	// 0 means no limit.
	MaxProcesses int
	// MemoryLimit is the method where the kernel cannot limit the memory of the tree; empty means
	// MemoryRefuse.
	MemoryLimit MemoryLimit
	// NewPrivileges lets the process gain privileges by set-user-ID programs such as sudo. Linux
	// only.
	NewPrivileges bool
	// AgentFiles lets the process use the files of Config.Hidden, as far as its user may, and use
	// system calls that Landlock refuses, such as mounts in a namespace of its own.
	AgentFiles bool
}

// MemoryLimit is the method where the kernel cannot limit the memory of a tree of processes.
type MemoryLimit string

const (
	// MemoryRefuse refuses to run the process.
	MemoryRefuse MemoryLimit = "refuse"
	// MemoryAddressSpace limits the address space of each process (RLIMIT_AS). Programs that
	// reserve much more than they use, such as those in Go, Java or Node.js, do not start with a
	// small limit.
	MemoryAddressSpace MemoryLimit = "address-space"
	// MemoryPoll reads the resident memory of the tree a few times a second, and kills the tree
	// when it exceeds the limit. A fast process may exceed the limit for a moment.
	MemoryPoll MemoryLimit = "poll"
)

// entry is a checked Entry.
type entry struct {
	Entry
	args *regexp.Regexp // nil: no arguments
	user *identity      // nil: the agent's user
}

var entryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

// Validate returns all faults of the configuration, each with its path, or nil.
func (c Config) Validate() error {
	_, err := c.entries()
	return err
}

// entries checks the configuration.
func (c Config) entries() (map[string]*entry, error) {
	var faults []error
	names := c.Names.orFields()
	fault := func(path, format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s: %w", path, fmt.Errorf(format, args...)))
	}
	if c.Cgroup != "" && !filepath.IsAbs(c.Cgroup) {
		fault(names.Cgroup, "invalid directory %q: want an absolute path", c.Cgroup)
	}
	if c.WorkDir != "" && !filepath.IsAbs(c.WorkDir) {
		fault(names.WorkDir, "invalid directory %q: want an absolute path", c.WorkDir)
	}
	all := map[string]*entry{}
	for i, one := range c.Entries {
		path := fmt.Sprintf("%s[%d]", names.Entries, i)
		checked := one.check(func(member, format string, args ...any) {
			fault(path+"."+member, format, args...)
		})
		if all[one.Name] != nil {
			fault(path+".name", "invalid name %q: another entry has it", one.Name)
		}
		all[one.Name] = checked
	}
	return all, errors.Join(faults...)
}

func (e Entry) check(fault func(member, format string, args ...any)) *entry {
	checked := &entry{Entry: e}
	if !entryName.MatchString(e.Name) {
		fault("name", "invalid name %q: want letters, digits, \"_\", \".\" and \"-\", at most 128", e.Name)
	}
	if !filepath.IsAbs(e.Path) || strings.ContainsRune(e.Path, 0) {
		fault("path", "invalid path %q: want an absolute path", e.Path)
	}
	for i, arg := range e.Args {
		if strings.ContainsRune(arg, 0) {
			fault(fmt.Sprintf("args[%d]", i), "invalid argument %q: want a text without NUL", arg)
		}
	}
	if e.ArgsPattern != "" {
		pattern, err := regexp.Compile(`\A(?:` + e.ArgsPattern + `)\z`)
		if err != nil {
			fault("args_pattern", "invalid regular expression %q: %w", e.ArgsPattern, err)
		}
		checked.args = pattern
	}
	if e.User != "" {
		who, err := lookupIdentity(e.User)
		if err != nil {
			fault("user", "invalid user %q: %w", e.User, err)
		}
		checked.user = who
	}
	if e.Dir != "" && !filepath.IsAbs(e.Dir) {
		fault("dir", "invalid directory %q: want an absolute path", e.Dir)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.HasPrefix(strings.ToUpper(name), "JOBAGENT_") {
			fault("env", "invalid variable %q: want a name without \"=\" that does not begin with JOBAGENT_", name)
		}
		if strings.ContainsRune(e.Env[name], 0) {
			fault("env."+name, "invalid value: want a text without NUL")
		}
	}
	if e.MaxMemory < 0 || e.MaxMemory > 0 && e.MaxMemory < minMemory {
		fault("max_memory", "invalid number of bytes %d: want 0 or at least %d", e.MaxMemory, minMemory)
	}
	if e.MaxProcesses < 0 {
		fault("max_processes", "invalid number %d: want 0 or more", e.MaxProcesses)
	}
	switch e.MemoryLimit {
	case "", MemoryRefuse, MemoryAddressSpace, MemoryPoll:
	default:
		fault("memory_limit", "invalid value %q: want %s, %s or %s", e.MemoryLimit, MemoryRefuse, MemoryAddressSpace, MemoryPoll)
	}
	return checked
}

// minMemory is the smallest limit of memory: 1 MiB. With less, no process starts.
const minMemory = 1 << 20

// memory returns the limit of an attempt whose step also has a limit.
func (e *entry) memory(asked int64) int64 {
	if asked == 0 || e.MaxMemory == 0 {
		return cmp.Or(asked, e.MaxMemory)
	}
	return min(asked, e.MaxMemory)
}
