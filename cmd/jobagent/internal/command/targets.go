package command

import (
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// TargetFlag is a flag that names the databases to which a run is limited.
type TargetFlag struct {
	name, text string
}

// Add adds the flag to a command.
func (f *TargetFlag) Add(cmd *cobra.Command, name, usage string) {
	f.name = name
	cmd.Flags().StringVar(&f.text, name, "", usage+": SERVER/DATABASE, names of databases or target IDs, separated by commas; "+
		"@FILE or - for standard input, a line each")
}

// port is the rest of the name of a server whose port was cut off at the comma: 14333/app.
var port = regexp.MustCompile(`^[0-9]{1,5}/`)

// Read returns the names that the flag gives, in their order; nil if it is not given.
func (f *TargetFlag) Read(stdin io.Reader) ([]string, error) {
	var names []string
	switch {
	case f.text == "":
		return nil, nil
	case f.text == "-" || strings.HasPrefix(f.text, "@"):
		text, err := ReadText(strings.TrimPrefix(f.text, "@"), stdin)
		if err != nil {
			return nil, err
		}
		names = strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	default:
		for _, part := range strings.Split(f.text, ",") {
			if n := len(names); n > 0 && port.MatchString(part) && !strings.Contains(names[n-1], "/") {
				names[n-1] += "," + part
				continue
			}
			names = append(names, part)
		}
	}
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	if len(names) == 0 {
		return nil, exit.Usagef("--%s is empty: want at least one database", f.name)
	}
	return names, nil
}
