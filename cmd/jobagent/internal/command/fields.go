package command

import (
	"github.com/spf13/pflag"

	"github.com/jobagent/jobagent/jobs/model"
)

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
