package sqlfs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// textLength matches the type of a text with a length.
var textLength = regexp.MustCompile(`^NVARCHAR\(([0-9]+)\)`)

// Reference returns the documentation of all procedures and views as Markdown: first the public
// ones, then those that only agents call.
func Reference() (string, error) {
	all, err := DescribeAll()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# Reference of the control database\n")
	for _, part := range []struct {
		title, prefix string
		kind          Kind
	}{
		{"Public procedures", "jobs.", KindProcedure},
		{"Public views", "jobs.", KindView},
		{"Procedures of the SAP surface", "jobs_rest.", KindProcedure},
		{"Roles", "", KindRole},
		{"Users", "", KindUser},
		{"Internal procedures (called by agents)", "jobs_internal.", KindProcedure},
		{"Internal views", "jobs_internal.", KindView},
		{"Tables", "jobs_internal.", KindTable},
	} {
		fmt.Fprintf(&b, "\n## %s\n", part.title)
		for _, d := range all {
			if d.Kind == part.kind && strings.HasPrefix(d.Name, part.prefix) {
				d.write(&b)
			}
		}
	}
	return b.String(), nil
}

// Markdown returns the documentation of one object, as in [Reference].
func (d Description) Markdown() string {
	var b strings.Builder
	d.write(&b)
	return strings.TrimPrefix(b.String(), "\n")
}

// write writes one object.
func (d Description) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", d.Name, strings.TrimSpace(d.Summary))
	entries := func(header string, list []Entry, typed bool) {
		if len(list) == 0 {
			return
		}
		if typed {
			fmt.Fprintf(b, "\n| %s | type and default | meaning |\n| --- | --- | --- |\n", header)
		} else {
			fmt.Fprintf(b, "\n| %s | meaning |\n| --- | --- |\n", header)
		}
		for _, e := range list {
			text := strings.ReplaceAll(e.Text, "|", `\|`)
			if m := textLength.FindStringSubmatch(e.Type); typed && m != nil {
				// The parameter is one character longer than its limit (sql/DESIGN.md).
				n, _ := strconv.Atoi(m[1])
				if limit := fmt.Sprintf("at most %d characters", n-1); strings.Contains(d.Text, "Invalid "+e.Name+": want "+limit) {
					text += " A text of " + limit + "."
				}
			}
			if typed {
				fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", e.Name, e.Type, text)
			} else {
				fmt.Fprintf(b, "| `%s` | %s |\n", e.Name, text)
			}
		}
	}
	entries("parameter", d.Parameters, true)
	entries("column", d.Columns, false)
	entries("error", d.Throws, false)
	for _, line := range []struct{ name, text string }{{"Returns", d.Returns}, {"Called by", d.CalledBy}, {"Locks", d.Locks}, {"Audit", d.Audit}, {"Job agent", d.JobAgent}} {
		switch {
		case strings.HasPrefix(line.text, "\n- "):
			fmt.Fprintf(b, "\n%s:\n%s\n", line.name, line.text)
		case line.text != "":
			fmt.Fprintf(b, "\n%s: %s\n", line.name, line.text)
		}
	}
}
