package command

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/jobs/jsontree"
)

// ParameterFlags are the flags that give the parameters of a run or of a schedule.
type ParameterFlags struct {
	texts, values []string
	file          string
}

// Add adds the flags to a command. What names the runs that get the parameters.
func (f *ParameterFlags) Add(cmd *cobra.Command, what string) {
	cmd.Flags().StringArrayVar(&f.texts, "param", nil,
		"`NAME=TEXT`: a parameter of "+what+", for $(param.NAME) in its steps; may be repeated")
	cmd.Flags().StringArrayVar(&f.values, "param-json", nil,
		"`NAME=JSON`: a parameter that is a number, true, false, null, an object or an array")
	cmd.Flags().StringVar(&f.file, "params-file", "", "`file` with all parameters as a JSON object, "+
		"- for standard input; --param and --param-json replace its members")
}

// Texts returns the names that --param gives, as texts.
func (f *ParameterFlags) Texts() (names []string) {
	for _, text := range f.texts {
		name, _, _ := strings.Cut(text, "=")
		names = append(names, name)
	}
	return names
}

// member is a name of a JSON object with its value.
type member struct {
	name  string
	value json.RawMessage
}

// Read returns the parameters as a JSON object; empty if no flag gives any. Nothing but the form
// of the flags is checked: the control database checks the object.
func (f *ParameterFlags) Read(stdin io.Reader) (string, error) {
	var given []member
	add := func(flag, text string, value func(string) (json.RawMessage, error)) error {
		name, rest, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return exit.Usagef("invalid --%s %q: want NAME=VALUE", flag, text)
		}
		if slices.ContainsFunc(given, func(m member) bool { return m.name == name }) {
			return exit.Usagef("invalid --%s %q: the parameter %s is given twice", flag, text, name)
		}
		v, err := value(rest)
		if err != nil {
			return exit.Usagef("invalid --%s %q: %w", flag, text, err)
		}
		given = append(given, member{name, v})
		return nil
	}
	for _, text := range f.texts {
		if err := add("param", text, func(s string) (json.RawMessage, error) { return json.RawMessage(jsontree.Quote(s)), nil }); err != nil {
			return "", err
		}
	}
	for _, text := range f.values {
		err := add("param-json", text, func(s string) (json.RawMessage, error) {
			var v json.RawMessage
			err := json.Unmarshal([]byte(s), &v)
			return v, err
		})
		if err != nil {
			return "", err
		}
	}
	var members []member
	if f.file != "" {
		text, err := ReadFile(f.file, stdin)
		if err != nil {
			return "", err
		}
		text = bytes.TrimSpace(text)
		if members, err = readMembers(text); err != nil {
			return "", exit.Usagef("invalid --params-file %s: want a JSON object: %w", f.file, err)
		}
		if len(given) == 0 {
			return string(text), nil
		}
	}
	for _, m := range given {
		i := slices.IndexFunc(members, func(old member) bool { return old.name == m.name })
		if i < 0 {
			members = append(members, m)
		} else {
			members[i].value = m.value
		}
	}
	if len(members) == 0 {
		return "", nil
	}
	var b bytes.Buffer
	for i, m := range members {
		b.WriteString(map[bool]string{true: "{", false: ", "}[i == 0])
		b.WriteString(jsontree.Quote(m.name) + ": ")
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.String(), nil
}

// readMembers reads the members of a JSON object in their order.
func readMembers(text []byte) ([]member, error) {
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	tree, err := jsontree.Parse(string(text))
	if err != nil {
		return nil, err
	}
	members := make([]member, len(tree.Members))
	for i, m := range tree.Members {
		members[i] = member{m.Name, json.RawMessage(m.Raw)}
	}
	return members, nil
}
