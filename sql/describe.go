package sqlfs

import (
	"regexp"
	"slices"
	"strings"
)

// Entry is a documented part of an object: a parameter, a column, or an error.
type Entry struct {
	// Name is @name of a parameter, the name of a column, or the number of an error.
	Name string
	// Type is the declaration after the name in the object's text, such as "INT = NULL OUTPUT". It
	// is empty for columns of views and for errors.
	Type string
	// Text is the description.
	Text string
}

// Description is an object's documentation, from the comment block at the beginning of its file.
type Description struct {
	Object
	// Summary is the text before the first section, as Markdown: paragraphs and lists.
	Summary string
	// Parameters are those of a procedure, in order.
	Parameters []Entry
	// Columns are those of a view or table, in order.
	Columns []Entry
	// CalledBy, Locks and Returns are sections of a procedure. Returns is a list if the procedure
	// returns several result sets.
	CalledBy, Locks, Returns string
	// Audit says who writes the entry of the audit log, if the procedure itself writes none.
	// JobAgent says why a procedure works whatever the state of the job agent is.
	Audit, JobAgent string
	// Throws are the errors of a procedure, by number.
	Throws []Entry
}

var (
	sectionLine   = regexp.MustCompile(`^(Parameters|Columns|Called by|Locks|Audit|Job agent|Returns|Throws):\s*(.*)$`)
	entryLine     = regexp.MustCompile(`^  (\S.*?)(?:\s{2,}(.*)|)$`)
	throwLine     = regexp.MustCompile(`^  ([0-9]{5})\s+(.*)$`)
	parameterDecl = regexp.MustCompile(`(?m)^    (@[a-z_]+)\s+(.*?),?\s*(?:--.*)?$`)
)

// Describe reads the documentation of an object.
func Describe(o Object) Description {
	d := Description{Object: o}
	section := ""
	var columns table
	var free = map[string]*string{"": &d.Summary, "Called by": &d.CalledBy, "Locks": &d.Locks, "Audit": &d.Audit, "Job agent": &d.JobAgent, "Returns": &d.Returns}
	for line := range strings.Lines(o.Text) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasPrefix(line, "--") {
			break
		}
		line = strings.TrimPrefix(strings.TrimPrefix(line, "--"), " ")
		if section == "" {
			if columns.take(line, d.Summary) {
				continue
			}
			d.Summary += columns.markdown()
		}
		if m := sectionLine.FindStringSubmatch(line); m != nil {
			section = m[1]
			line = m[2]
			if free[section] == nil {
				continue
			}
		}
		if text := free[section]; text != nil {
			*text = appendText(*text, line, section == "")
			continue
		}
		d.entry(section, line)
	}
	if o.Kind == KindProcedure {
		types := map[string]string{}
		head, _, _ := strings.Cut(o.Text, "\nAS\n")
		for _, m := range parameterDecl.FindAllStringSubmatch(head, -1) {
			types[m[1]] = strings.TrimSpace(m[2])
		}
		now := slices.ContainsFunc(d.Parameters, func(e Entry) bool { return e.Name == "@now" })
		if types["@now"] != "" && !now { // DESIGN.md says it once
			d.Parameters = append(d.Parameters, Entry{Name: "@now", Text: "For tests only."})
		}
		for i, p := range d.Parameters {
			d.Parameters[i].Type = types[p.Name]
		}
	}
	return d
}

// table is a list in a summary whose lines have three or more columns.
type table struct {
	starts []int // of the columns, as of its first line, which names them
	rows   [][]string
}

// columnText matches the text of a column: words that single spaces separate.
var columnText = regexp.MustCompile(`\S+(?: \S+)*`)

// take takes a line of the table, or one that continues the row before it; false if it is neither.
func (t *table) take(line, before string) bool {
	switch {
	case !strings.HasPrefix(line, "  "):
		return false
	case t.starts == nil:
		at := columnText.FindAllStringIndex(line, -1)
		if len(at) < 3 || at[0][0] != 2 || !strings.HasSuffix(before, "\n\n") {
			return false
		}
		for _, a := range at {
			t.starts = append(t.starts, a[0])
		}
	}
	if line[2] != ' ' {
		t.rows = append(t.rows, make([]string, len(t.starts)))
	}
	row, from := t.rows[len(t.rows)-1], 0
	for i := range row {
		to := len(line)
		if i+1 < len(row) && t.starts[i+1] < to {
			to = t.starts[i+1]
			if line[to-1] != ' ' && line[to] != ' ' { // the text is wider than its column
				to += strings.Index(line[to:]+"  ", "  ")
			}
		}
		to = max(from, min(to, len(line)))
		row[i] = strings.TrimSpace(row[i] + " " + strings.TrimSpace(line[from:to]))
		from = to
	}
	return true
}

// markdown returns the rows as a table of Markdown, and forgets them.
func (t *table) markdown() string {
	var b strings.Builder
	for i, row := range t.rows {
		if i > 0 {
			row[0] = "`" + row[0] + "`"
		}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	if len(t.rows) > 0 {
		b.WriteString("\n")
	}
	*t = table{}
	return b.String()
}

// resultSetLine is the beginning of the description of a result set.
var resultSetLine = regexp.MustCompile(`^\s*[1-9]: `)

// appendText appends a line of free text. An empty line begins a paragraph. A line about a result
// set begins a list item, and so does, with lists, an indented line; deeper lines continue the
// item.
func appendText(text, line string, lists bool) string {
	trimmed := strings.TrimSpace(line)
	m := entryLine.FindStringSubmatch(line)
	last := text[strings.LastIndex(text, "\n")+1:]
	switch {
	case trimmed == "":
		return strings.TrimSuffix(text, "\n\n") + "\n\n"
	case resultSetLine.MatchString(line):
		return text + "\n- " + trimmed
	case lists && m != nil && !strings.HasPrefix(line, "   "):
		if m[2] != "" {
			trimmed = "`" + m[1] + "`: " + m[2]
		}
		separator := "\n\n" // a blank line before the list
		if strings.HasPrefix(last, "- ") {
			separator = "\n"
		}
		return strings.TrimRight(text, "\n") + separator + "- " + trimmed
	case lists && strings.HasPrefix(last, "- ") && !strings.HasPrefix(line, " "):
		return text + "\n\n" + trimmed
	case text == "" || strings.HasSuffix(text, "\n\n"):
		return text + trimmed
	}
	return text + " " + trimmed
}

// entry reads a line of a section with entries: a new entry, or a continuation of the last one.
func (d *Description) entry(section, line string) {
	list := map[string]*[]Entry{"Parameters": &d.Parameters, "Columns": &d.Columns, "Throws": &d.Throws}[section]
	if list == nil || strings.TrimSpace(line) == "" {
		return
	}
	if section == "Throws" {
		if m := throwLine.FindStringSubmatch(line); m != nil {
			*list = append(*list, Entry{Name: m[1], Text: m[2]})
			return
		}
	} else if m := entryLine.FindStringSubmatch(line); m != nil && !strings.HasPrefix(line, "   ") {
		*list = append(*list, Entry{Name: m[1], Text: m[2]})
		return
	}
	if n := len(*list); n > 0 {
		last := &(*list)[n-1]
		last.Text = strings.TrimSpace(last.Text + " " + strings.TrimSpace(line))
	}
}

// DescribeAll describes every object in the order of a fresh install.
func DescribeAll() ([]Description, error) {
	all, err := Objects()
	if err != nil {
		return nil, err
	}
	list := make([]Description, 0, len(all))
	byName := make(map[string]Description, len(all))
	for _, o := range all {
		d := Describe(o)
		list, byName[d.Name] = append(list, d), d
	}
	for i := range list {
		list[i].inherit(byName)
	}
	return list, nil
}

// sameColumns matches the section of a view that has the columns of another one.
var sameColumns = regexp.MustCompile(`(?m)^-- Columns: those of (\w+\.\w+)\.$`)

// publicCaller matches the names of public procedures in the section "Called by".
var publicCaller = regexp.MustCompile(`jobs\.sp_\w+`)

// inherit gives a view whose header says "Columns: those of" another view their descriptions, and
// completes the parameters of a procedure whose header says "Parameters: those of the
// callers": one that has no text of its own has that of the first public caller that describes it.
func (d *Description) inherit(byName map[string]Description) {
	if m := sameColumns.FindStringSubmatch(d.Text); m != nil {
		d.Columns = byName[m[1]].Columns
	}
	if !strings.Contains(d.Text, "\n-- Parameters: those of the callers") {
		return
	}
	own := d.Parameters
	d.Parameters = nil
	head, _, _ := strings.Cut(d.Text, "\nAS\n")
	for _, m := range parameterDecl.FindAllStringSubmatch(head, -1) {
		named := func(e Entry) bool { return e.Name == m[1] }
		if i := slices.IndexFunc(own, named); i >= 0 {
			d.Parameters = append(d.Parameters, own[i])
			continue
		}
		for _, caller := range publicCaller.FindAllString(d.CalledBy, -1) {
			list := byName[caller].Parameters
			if i := slices.IndexFunc(list, named); i >= 0 {
				d.Parameters = append(d.Parameters, Entry{Name: m[1], Type: strings.TrimSpace(m[2]), Text: list[i].Text})
				break
			}
		}
	}
}
