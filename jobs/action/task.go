package action

import (
	"strconv"

	"github.com/jobagent/jobagent/jobs/parameters"
)

// OptionMemory is the option of a Cloud Foundry task that bounds its memory, in MiB. A task of SAP
// Job Scheduling Service has its options in the data of its schedule, which are the parameters of
// the run.
const OptionMemory = "memory_in_mb"

// maxMemoryMB is the largest value of OptionMemory: 1 PiB, as of max_memory_bytes.
const maxMemoryMB = 1 << 30

// DefaultTaskMemoryMB is the default of OptionMemory in MiB, as in Cloud Foundry.
const DefaultTaskMemoryMB = 1024

// ApplyTaskOptions applies the options of a task: OptionMemory, or its default, lowers the limit of
// the entry. The other options have no effect; the process gets them with the other parameters. The
// error is a [*Faults].
func (p *Process) ApplyTaskOptions(options *parameters.Parameters) error {
	value, given := options.Member(OptionMemory)
	if !given || value.Kind == parameters.Null {
		p.MaxMemory = DefaultTaskMemoryMB << 20
		return nil
	}
	n, err := strconv.ParseInt(value.Text, 10, 64)
	if err != nil || value.Kind != parameters.Number || n < 1 || n > maxMemoryMB {
		f := &Faults{}
		f.add("$."+OptionMemory, "invalid memory of a task: want a whole number of MiB from 1 to %d", maxMemoryMB)
		return f
	}
	p.MaxMemory = n << 20
	return nil
}
