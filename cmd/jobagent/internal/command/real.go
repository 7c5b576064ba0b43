package command

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/pflag"
)

// realValue is the value of a flag for a number that the control database stores as REAL.
type realValue struct{ f *float64 }

// AddReal adds a flag that is a number within the range of REAL. SQL Server refuses others before a
// procedure sees them, and does not say which argument it is
// (https://learn.microsoft.com/sql/t-sql/data-types/float-and-real-transact-sql).
func AddReal(flags *pflag.FlagSet, f *float64, name string, absent float64, usage string) {
	*f = absent
	flags.Var(realValue{f}, name, usage)
}

func (v realValue) Set(text string) error {
	f, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrSyntax) || math.IsNaN(f) {
		return fmt.Errorf("invalid number %q: want one such as 1.5", text)
	}
	if math.Abs(f) > math.MaxFloat32 {
		return fmt.Errorf("invalid number %q: want at most 3.4e38", text)
	}
	*v.f = f
	return nil
}

func (v realValue) String() string {
	if v.f == nil {
		return "0"
	}
	return strconv.FormatFloat(*v.f, 'g', -1, 64)
}

// Type is the name of the type in help, as of other numbers with decimals.
func (v realValue) Type() string { return "float64" }
