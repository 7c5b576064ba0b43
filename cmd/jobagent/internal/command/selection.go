package command

import (
	"github.com/spf13/pflag"

	"github.com/jobagent/jobagent/jobs/drift"
)

// AddSelection adds the flags that say what is compared of schemas.
func AddSelection(flags *pflag.FlagSet, s *drift.Selection) {
	flags.StringSliceVar(&s.Ignore, "ignore", nil, "leave these `PARTS` of schemas out, separated by commas")
	flags.StringSliceVar(&s.Include, "include", nil, "compare these `PARTS` of schemas, too: permissions, system-names")
	flags.StringArrayVar(&s.Exclude, "exclude", nil, "leave out objects that match this `PATTERN`, a schema or schema.object with * and ?; may be repeated")
}
