package command

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/jobagent/jobagent/jobs/drift"
	"github.com/jobagent/jobagent/jobs/model"
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

// AddField declares the flag of a field that settings have a value of. The value is the default.
func AddField[S, V any](flags *pflag.FlagSet, f *model.Field[S, V], settings *V) {
	switch v := f.Value(settings).(type) {
	case *string:
		flags.StringVar(v, f.Flag, *v, f.Usage)
	case *bool:
		flags.BoolVar(v, f.Flag, *v, f.Usage)
	case *float64:
		AddReal(flags, v, f.Flag, *v, f.Usage)
	case *int:
		if f.Seconds {
			AddSeconds(flags, v, f.Flag, *v, f.Usage)
		} else {
			flags.IntVar(v, f.Flag, *v, f.Usage)
		}
	}
}

// TakeFields gives the settings whose flags are given.
func TakeFields[S, V any](flags *pflag.FlagSet, fields []model.Field[S, V], spec *S, settings *V) {
	for i := range fields {
		if f := &fields[i]; f.Value(settings) != nil && flags.Changed(f.Flag) {
			f.Take(spec, settings)
		}
	}
}

// AddSelection adds the flags that say what is compared of schemas.
func AddSelection(flags *pflag.FlagSet, s *drift.Selection) {
	flags.StringSliceVar(&s.Ignore, "ignore", nil, "leave these `PARTS` of schemas out, separated by commas")
	flags.StringSliceVar(&s.Include, "include", nil, "compare these `PARTS` of schemas, too: permissions, system-names")
	flags.StringArrayVar(&s.Exclude, "exclude", nil, "leave out objects that match this `PATTERN`, a schema or schema.object with * and ?; may be repeated")
}

// errTooLong means that a duration has more than 292 years.
var errTooLong = errors.New("it is too long: want at most 292 years")

// ParseDuration parses a duration of the command line: 5s, 30m, 1h30m, 90d, 2w, or plain seconds.
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		if d := time.Duration(seconds) * time.Second; d/time.Second == time.Duration(seconds) {
			return d, nil
		}
		return 0, errTooLong
	}
	whole := time.Duration(0)
	if m := age.FindStringSubmatch(text); m != nil { // days or weeks alone, or before the rest
		days, err := strconv.Atoi(m[1])
		if err != nil {
			return 0, err
		}
		if m[2] == "w" {
			days *= 7
		}
		if days > int(math.MaxInt64/(24*time.Hour)) {
			return 0, errTooLong
		}
		if whole = time.Duration(days) * 24 * time.Hour; m[3] == "" {
			return whole, nil
		}
		text = m[3]
	}
	d, err := time.ParseDuration(text)
	if err != nil || whole > 0 && (d < 0 || d > math.MaxInt64-whole) {
		return 0, fmt.Errorf("want a duration such as 90s, 30m, 24h or 7d")
	}
	return whole + d, nil
}

// ParsePeriod parses a duration such as that of a pause, which people think of in hours or days. It
// is [ParseDuration], but it refuses a number without a unit, which would be seconds.
func ParsePeriod(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n != 0 {
		return 0, fmt.Errorf("want a unit, such as %[1]dm, %[1]dh or %[1]dd", n)
	}
	return ParseDuration(text)
}

// duration is the value of a flag that is a duration.
type duration struct {
	d *time.Duration
	// seconds receives whole seconds instead.
	seconds *int
	// unit means that a number needs a unit.
	unit bool
}

// AddDuration adds a flag that is a duration.
func AddDuration(flags *pflag.FlagSet, d *time.Duration, name string, absent time.Duration, usage string) {
	*d = absent
	flags.Var(duration{d: d}, name, usage)
}

// AddSeconds adds a flag that is a duration in whole seconds.
func AddSeconds(flags *pflag.FlagSet, seconds *int, name string, absent int, usage string) {
	*seconds = absent
	flags.Var(duration{seconds: seconds}, name, usage)
}

// AddPeriod adds a flag that is a duration with a unit ([ParsePeriod]).
func AddPeriod(flags *pflag.FlagSet, d *time.Duration, name string, absent time.Duration, usage string) {
	*d = absent
	flags.Var(duration{d: d, unit: true}, name, usage)
}

// AddPeriodSeconds adds a flag that is a duration with a unit, in whole seconds.
func AddPeriodSeconds(flags *pflag.FlagSet, seconds *int, name string, absent int, usage string) {
	*seconds = absent
	flags.Var(duration{seconds: seconds, unit: true}, name, usage)
}

func (v duration) Set(text string) error {
	d, err := ParseDuration(text)
	if v.unit {
		if d, err = ParsePeriod(text); err != nil {
			err = fmt.Errorf("invalid duration %q: %w", text, err)
		}
	}
	if err != nil {
		return err
	}
	if v.d != nil {
		*v.d = d
		return nil
	}
	if d%time.Second != 0 {
		return fmt.Errorf("invalid duration %q: want whole seconds", text)
	}
	if d /= time.Second; d > math.MaxInt32 || d < math.MinInt32 {
		return fmt.Errorf("invalid duration %q: want at most %d seconds", text, math.MaxInt32)
	}
	*v.seconds = int(d)
	return nil
}

func (v duration) String() string {
	d := time.Duration(0)
	switch {
	case v.d != nil:
		d = *v.d
	case v.seconds != nil:
		d = time.Duration(*v.seconds) * time.Second
	}
	if d == 0 {
		return "0"
	}
	text := d.String() // 12h0m0s
	if rest, ok := strings.CutSuffix(text, "m0s"); ok {
		text = rest + "m"
	}
	if rest, ok := strings.CutSuffix(text, "h0m"); ok {
		text = rest + "h"
	}
	return text
}

// Type is the name of the type in help, and for errors.
func (duration) Type() string { return "duration" }
