package output

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
)

// Column is a column of a list. The field of the row whose JSON name is Name is its value, unless
// Value is given. Fields without a column are columns, too: of CSV and of --columns.
type Column[T any] struct {
	// Name is the name for --columns and --sort, and the header of CSV.
	Name string
	// Header is the header of the table; empty means Name in capitals.
	Header string
	// Value returns the value of a row: what CSV prints and --sort compares.
	Value func(T) any
	// Text returns what the table prints, if it is not the value.
	Text func(T) string
	// Wide columns are shown with -o wide only.
	Wide bool
	// ID is what -o name prints: the name or id of the row.
	ID bool
	// GUID is a GUID, of which a narrow terminal shows the first 8 digits.
	GUID bool
	// State is a word that has a colour.
	State bool
	// Min is the number of cells to which the column may shrink on a terminal; 0: it does not.
	Min int
	// Tail columns are cut at the beginning.
	Tail bool
	// Rest is the column that gives way first, down to Min; Wrap lets it continue on further lines.
	Rest, Wrap bool
	// Keep columns are never left out. The others are left out from the right, or those with the
	// greatest Drop first.
	Keep bool
	Drop int
	// Right columns have their texts at the right: numbers. Fields that are numbers are so anyway.
	Right bool

	derived bool // not of the table
}

// Title is the header of the table.
func (c Column[T]) Title() string {
	return cmp.Or(c.Header, strings.ToUpper(strings.ReplaceAll(c.Name, "_", " ")))
}

// Columns returns the columns of a list: those that are given, and behind them all other fields of
// its rows.
func Columns[T any](given []Column[T]) Listing[T] {
	fields := fieldsOf(reflect.TypeFor[T]())
	all := slices.Clone(given)
	for i := range all {
		if all[i].Value != nil {
			continue
		}
		f := slices.IndexFunc(fields, func(f field) bool { return f.name == all[i].Name })
		if f < 0 {
			panic(fmt.Sprintf("column %s of %s has no field and no value", all[i].Name, reflect.TypeFor[T]()))
		}
		all[i].Value, all[i].Right = fieldValue[T](fields[f]), all[i].Right || fields[f].number
	}
	for _, f := range fields {
		if !slices.ContainsFunc(all, func(c Column[T]) bool { return c.Name == f.name }) {
			all = append(all, Column[T]{Name: f.name, Value: fieldValue[T](f), derived: true, Min: 8, Right: f.number})
		}
	}
	return all
}

// field is a field of a struct by its JSON name.
type field struct {
	name   string
	index  []int
	number bool
}

func fieldsOf(t reflect.Type) (list []field) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		list = append(list, field{name, f.Index, kind.Kind() >= reflect.Int && kind.Kind() <= reflect.Float64})
	}
	return list
}

func fieldValue[T any](f field) func(T) any {
	return func(row T) any { return reflect.ValueOf(row).FieldByIndex(f.index).Interface() }
}

// Each returns what f makes of each element of a list. It is never nil, so that its JSON is a list.
func Each[T, V any](list []T, f func(T) V) []V {
	all := make([]V, 0, len(list))
	for _, one := range list {
		all = append(all, f(one))
	}
	return all
}

// ListOptions are the flags of lists.
type ListOptions struct {
	Columns   []string // --columns
	Sort      string   // --sort: a column, with - before it for the reverse order
	NoHeaders bool     // --no-headers
}

// Rows is the list that a command prints, with the types of its rows left out: what the check of
// the flags needs.
type Rows interface {
	Check(o ListOptions, f Format) error
	// Names are the names of all columns; Help names them for --help.
	Names() []string
	Help() string
	// Value is an empty list of rows.
	Value() any
}

// Listing is the columns of a list.
type Listing[T any] []Column[T]

// Value implements [Rows].
func (l Listing[T]) Value() any { return []T{} }

// Check reports what is wrong with the flags of a list, before the list is read.
func (l Listing[T]) Check(o ListOptions, f Format) error {
	if len(o.Columns) > 0 && !f.isTable() {
		return fmt.Errorf("--columns chooses the columns of table, wide and csv, not of %s; --jq chooses fields of JSON", f)
	}
	for _, name := range o.Columns {
		if _, err := l.find("--columns", name); err != nil {
			return err
		}
	}
	if o.Sort != "" {
		_, err := l.find("--sort", strings.TrimPrefix(o.Sort, "-"))
		return err
	}
	return nil
}

// key is a name as it is compared: capitals, blanks and hyphens make no difference.
func key(name string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(name)))
}

// find returns the column of a name of the command line: its name or its header; id and name are
// also what -o name prints.
func (l Listing[T]) find(flag, name string) (Column[T], error) {
	wanted := key(name)
	for _, c := range l {
		if key(c.Name) == wanted {
			return c, nil
		}
	}
	for _, c := range l {
		if key(c.Title()) == wanted {
			return c, nil
		}
	}
	if i := slices.IndexFunc(l, func(c Column[T]) bool { return c.ID }); i >= 0 && (wanted == "id" || wanted == "name") {
		return l[i], nil
	}
	hint := ""
	best := len(wanted)/2 + 1
	for _, c := range l {
		for _, known := range []string{key(c.Name), key(c.Title())} {
			d := levenshtein.ComputeDistance(wanted, known)
			if strings.HasPrefix(known, wanted) || strings.HasSuffix(known, "_"+wanted) {
				d = min(d, 1)
			}
			if wanted != "" && d < best {
				best, hint = d, fmt.Sprintf("; did you mean %s?", known)
			}
		}
	}
	return Column[T]{}, fmt.Errorf("%s: no column %q%s The columns are: %s", flag, name, cmp.Or(hint, "."), strings.Join(l.Names(), ", "))
}

// Help names the columns of the table; all others are fields of the JSON.
func (l Listing[T]) Help() string {
	var names []string
	more := ""
	for _, c := range l {
		if c.derived {
			more = " and the other fields of the JSON"
			continue
		}
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ") + more
}

// Without leaves out fields that have no value in this list.
func (l Listing[T]) Without(names ...string) Listing[T] {
	return slices.DeleteFunc(l, func(c Column[T]) bool { return c.derived && slices.Contains(names, c.Name) })
}

// Names are the names of all columns.
func (l Listing[T]) Names() []string {
	names := make([]string, len(l))
	for i, c := range l {
		names[i] = c.Name
	}
	return names
}

// List prints rows in the format of -o, in the order of --sort. The rows are the JSON.
func List[T any](p *Printer, rows []T, l Listing[T]) error {
	if err := l.Check(p.List, p.Format); err != nil {
		return err
	}
	if p.List.Sort != "" {
		name, reverse := strings.CutPrefix(p.List.Sort, "-")
		c, err := l.find("--sort", name)
		if err != nil {
			return err
		}
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(x, y T) int {
			if reverse {
				x, y = y, x
			}
			return compare(c.Value(x), c.Value(y))
		})
	}
	switch {
	case p.Structured():
		return p.Emit(rows, nil)
	case p.Format == FormatCSV:
		return writeCSV(p.Stdout, rows, l, p.List)
	case p.Format == FormatName:
		return writeNames(p.Stdout, rows, l)
	}
	if _, _, ok := terminal.Size(p.Stdout); ok && len(rows) == 0 {
		_, err := fmt.Fprintln(p.Stderr, "there is nothing to list")
		return err
	}
	return p.writeGrid(gridOf(rows, l, p.List, p.Format))
}

// chosen returns the columns of --columns, else those that suits accepts.
func (l Listing[T]) chosen(o ListOptions, suits func(Column[T]) bool) (list []Column[T]) {
	for _, name := range o.Columns {
		if c, err := l.find("--columns", name); err == nil { // Check has seen them all
			list = append(list, c)
		}
	}
	if len(o.Columns) > 0 {
		return list
	}
	for _, c := range l {
		if suits(c) {
			list = append(list, c)
		}
	}
	return list
}

// gridOf makes the table of a list.
func gridOf[T any](rows []T, l Listing[T], o ListOptions, f Format) *grid {
	columns := l.chosen(o, func(c Column[T]) bool { return !c.derived && (!c.Wide || f == FormatWide) })
	g := &grid{noHead: o.NoHeaders, rows: make([][]string, 0, len(rows))}
	for i, c := range columns {
		drop := cmp.Or(c.Drop, i)
		if c.Keep || len(o.Columns) > 0 {
			drop = 0
		}
		g.columns = append(g.columns, gridColumn{
			header: c.Title(), min: c.Min, rest: c.Rest, wrap: c.Wrap, id: c.GUID, right: c.Right, state: c.State, tail: c.Tail, drop: drop,
		})
	}
	cells := make([]string, len(rows)*len(columns))
	for _, row := range rows {
		line := cells[:len(columns):len(columns)]
		cells = cells[len(columns):]
		for i, c := range columns {
			if c.Text != nil {
				line[i] = cleanCell(c.Text(row))
			} else {
				line[i] = cell(c.Value(row))
			}
		}
		g.rows = append(g.rows, line)
	}
	return g
}

// writeCSV prints rows as RFC 4180 asks for: texts that a spreadsheet could run have an apostrophe
// before them, all other values are as they are. Times are in UTC, to the second, in the form that
// spreadsheets read.
func writeCSV[T any](w io.Writer, rows []T, l Listing[T], o ListOptions) error {
	columns := l.chosen(o, func(Column[T]) bool { return true })
	out := newCSV(w)
	record := make([]string, len(columns))
	if !o.NoHeaders {
		for i, c := range columns {
			record[i] = c.Name
		}
		out.write(record)
	}
	for _, row := range rows {
		for i, c := range columns {
			value := c.Value(row)
			if t, ok := plain(value).(time.Time); ok { // spreadsheets read no other form as a time
				record[i] = t.UTC().Format(time.DateTime)
				continue
			}
			record[i] = inert(raw(value))
		}
		out.write(record)
	}
	return out.flush()
}

// writeNames prints the name or id of each row on a line.
func writeNames[T any](w io.Writer, rows []T, l Listing[T]) error {
	i := max(0, slices.IndexFunc(l, func(c Column[T]) bool { return c.ID }))
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(OneLine(raw(l[i].Value(row))))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// raw formats a value for CSV and for names.
func raw(v any) string {
	if v = plain(v); v == nil {
		return ""
	}
	switch v := v.(type) {
	case string:
		return v
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case uuid.UUID:
		return v.String()
	case json.RawMessage:
		return string(v)
	case fmt.Stringer:
		return v.String()
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.String:
		return r.String()
	case reflect.Slice, reflect.Map, reflect.Struct:
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(text)
	}
	return fmt.Sprint(v)
}

// plain returns what a pointer points to; nil for nil, for the zero time, for the nil ID, and
// for empty lists.
func plain(v any) any {
	r := reflect.ValueOf(v)
	for r.IsValid() && r.Kind() == reflect.Pointer {
		if r.IsNil() {
			return nil
		}
		r = r.Elem()
	}
	if !r.IsValid() || (r.Kind() == reflect.Slice || r.Kind() == reflect.Map) && r.Len() == 0 {
		return nil
	}
	v = r.Interface()
	if t, ok := v.(time.Time); ok && t.IsZero() || v == any(uuid.Nil) {
		return nil
	}
	return v
}

// compare orders two values of a column: nothing before all else, numbers and times by their size,
// text by its letters, without regard to case first.
func compare(x, y any) int {
	x, y = plain(x), plain(y)
	switch {
	case x == nil || y == nil:
		return cmp.Compare(rank(x), rank(y))
	}
	if tx, ok := x.(time.Time); ok {
		if ty, ok := y.(time.Time); ok {
			return tx.Compare(ty)
		}
	}
	rx, ry := reflect.ValueOf(x), reflect.ValueOf(y)
	switch {
	case rx.CanInt() && ry.CanInt():
		return cmp.Compare(rx.Int(), ry.Int())
	case rx.CanUint() && ry.CanUint():
		return cmp.Compare(rx.Uint(), ry.Uint())
	case rx.CanFloat() && ry.CanFloat():
		return cmp.Compare(rx.Float(), ry.Float())
	}
	a, b := raw(x), raw(y)
	return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), strings.Compare(a, b))
}

func rank(v any) int {
	if v == nil {
		return 0
	}
	return 1
}

// cell formats a cell on one line: times in UTC to the second, nil and zero times as "".
func cell(v any) string {
	if v = plain(v); v == nil {
		return ""
	}
	switch v := v.(type) {
	case string:
		return cleanCell(v)
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05")
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []string:
		return cleanCell(strings.Join(v, ", "))
	}
	return cleanCell(raw(v))
}

// cleanCell makes a text fit for a line of a terminal.
func cleanCell(text string) string {
	for i := range len(text) {
		if text[i] < 0x20 || text[i] > 0x7E {
			if !utf8.ValidString(text) {
				text = strings.ToValidUTF8(text, "�")
			}
			return terminal.Clean(OneLine(text))
		}
	}
	return text
}

// WriteTable prints rows as a table within so many cells; 0 means no bound. It is for tables that
// are a part of what a command prints.
func WriteTable[T any](w io.Writer, rows []T, l Listing[T], width int, paint terminal.Painter) {
	_ = gridOf(rows, l, ListOptions{}, FormatTable).write(w, width, paint) // w is a builder of text, which has no errors
}
