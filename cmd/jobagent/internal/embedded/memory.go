package embedded

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
)

// MemorySize is a flag that holds a number of bytes, or a number of KB, MB or GB. As in SQL Server,
// these are powers of 1,024.
type MemorySize int64

// memoryUnits are the units of a MemorySize, the largest first.
var memoryUnits = []struct {
	name string
	size int64
}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"B", 1}}

// String implements [pflag.Value].
func (b *MemorySize) String() string {
	for _, u := range memoryUnits {
		if n := int64(*b); n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

// Set implements [pflag.Value].
func (b *MemorySize) Set(text string) error {
	number, unit := strings.ToUpper(strings.TrimSpace(text)), int64(1)
	for _, u := range memoryUnits {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("invalid size: want a number of bytes, or a number with KB, MB or GB, such as 512MB")
	}
	*b = MemorySize(n * unit)
	return nil
}

// Type implements [pflag.Value].
func (*MemorySize) Type() string { return "size" }

const (
	// flagMaxMemory is the name of the flag.
	flagMaxMemory = "max-memory"
	// leastMemory is the memory that suffices for the control database's own procedures, in bytes.
	leastMemory = 64 << 20
	// processMemory is the process's memory beside that of the server's sessions, in bytes: caches,
	// plans and the agent.
	processMemory = 256 << 20
)

// AddMemoryFlag declares the flag --max-memory.
func AddMemoryFlag(cmd *cobra.Command, size *MemorySize) {
	*size = meter.DefaultLimit
	cmd.Flags().Var(size, flagMaxMemory, "memory limit for all sessions of the embedded server, such as 512MB; a session may use half of it, and its statements fail beyond that (error 701); copies that are not counted can take the process to 2.5 times the limit")
}

// Check refuses a size that is too small.
func (b MemorySize) Check() error {
	if b < leastMemory {
		return exit.Usagef("--%s %s: must be at least %dMB", flagMaxMemory, b.String(), leastMemory>>20)
	}
	return nil
}

// Option is an [Option]. It also sets the garbage collector's memory limit to the process's
// expected size, unless the environment variable GOMEMLIMIT is set.
func (b MemorySize) Option(cfg *Config) {
	cfg.MaxMemory = int64(b)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(b) + processMemory)
	}
}
