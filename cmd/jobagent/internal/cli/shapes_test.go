package cli

import (
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
)

var writeShapes = flag.Bool("shapes.write", false, "TestShapesText writes shapes.txt instead of comparing it")

// describer writes the text of jobagent help output, without the commands.
type describer struct {
	t       *testing.T
	objects []reflect.Type                      // the structs that were used
	specs   map[string]map[string]*ast.TypeSpec // by package and name
	docs    map[*ast.TypeSpec]*ast.CommentGroup
}

// typeName is the type of a value in the text. A struct is described below under its name.
func (d *describer) typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[uuid.UUID]():
		return "GUID"
	case t == reflect.TypeFor[time.Time]():
		return "time"
	case t == reflect.TypeFor[json.RawMessage]():
		return "any"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.typeName(t.Elem())
	case reflect.Slice:
		if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return "string"
		}
		return "array of " + d.typeName(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Float64:
		return "number"
	case reflect.Struct:
		if !slices.Contains(d.objects, t) {
			d.objects = append(d.objects, t)
		}
		return t.Name()
	}
	d.t.Fatalf("type %s has no JSON type", t)
	return ""
}

// source is the declaration of a type, and its comment. It reads the package of the type once.
func (d *describer) source(t reflect.Type) (*ast.StructType, *ast.CommentGroup) {
	if d.specs[t.PkgPath()] == nil {
		d.specs[t.PkgPath()] = map[string]*ast.TypeSpec{}
		names, err := filepath.Glob(filepath.Join("../../../..", strings.TrimPrefix(t.PkgPath(), "github.com/jobagent/jobagent/"), "*.go"))
		require.NoError(d.t, err)
		for _, name := range names {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			require.NoError(d.t, err)
			for _, decl := range file.Decls {
				g, ok := decl.(*ast.GenDecl)
				if !ok || g.Tok != token.TYPE {
					continue
				}
				for _, s := range g.Specs {
					spec := s.(*ast.TypeSpec)
					d.specs[t.PkgPath()][spec.Name.Name], d.docs[spec] = spec, g.Doc
				}
			}
		}
	}
	spec := d.specs[t.PkgPath()][t.Name()]
	require.NotNil(d.t, spec, t.String())
	return spec.Type.(*ast.StructType), d.docs[spec]
}

// text describes the formats, and each object that commands print.
func (d *describer) text() string {
	var b strings.Builder
	b.WriteString(`-o chooses the format of stdout. Errors, warnings and progress go to stderr.

  table  columns of text. On a terminal, columns shrink with … until a row fits, and those that say the
         least are left out; GUIDs become their first 8 digits. In a pipe nothing is cut.
  wide   more columns, and nothing is cut.
  json   one JSON value: see below.
  yaml   the same value as YAML.
  csv    lists and query: RFC 4180 with all columns and the values as they are, times in the form of RFC 3339. A text
         that begins as a formula of a spreadsheet (= + - @, tab, line end) has an apostrophe before it, unless it
         is a number; --jq with @csv prints such texts as they are.
  jsonl  query only: a JSON value on a line for each row.
  name   lists only: the name or id of each row on a line, for xargs.

Control characters and marks of direction become their number, such as \u202e, in what people read, so that
no name or message can move other text: tables, messages, errors, and every format on a terminal. In a pipe,
JSON, YAML, CSV and names have them as they are.

Flags of lists:

  --columns a,b  the columns of table and csv, by their names in JSON or their headers. The command's
                 --help lists all of them.
  --sort a       sort by a column, as numbers, times or text; --sort -a in the reverse order. With --limit,
                 what was read is sorted: --limit 50 --sort -duration_ms are the latest 50, the longest first.
  --no-headers   table and csv without headers.
  --limit N      read at most N rows.
  --since TIME   read rows since then: 90m, 24h, 7d, 2026-01-31 or 2026-01-31T22:00:00Z.

--jq FILTER prints what a filter of jq makes of the JSON, without jq being installed: texts as they are,
all else as JSON. Of query, the filter gets one row at a time. Three examples:

  jobagent job list --jq '.[] | select(.enabled) | .job_name'
  jobagent execution list --since 24h --jq 'map(select(.targets.failed > 0)) | length'
  jobagent execution errors RUN --jq '.[] | [.count, .message] | @csv'

In JSON, a field with a question mark is absent when it has no value. A time is text in the form of
RFC 3339. Later versions may add fields; they do not rename or remove any.

Commands:
`)
	app := connect.New(nil, nil, nil)
	eachCommandOf(newRootCommand(app), func(cmd *cobra.Command) {
		for _, s := range app.Shapes(cmd) {
			require.Equal(d.t, s.TypeName(), d.typeName(reflect.TypeOf(s.Value)))
		}
	})
	for i := 0; i < len(d.objects); i++ { // an object's fields may add further objects
		for _, f := range reflect.VisibleFields(d.objects[i]) {
			if !f.Anonymous && f.Tag.Get("json") != "-" {
				d.typeName(f.Type)
			}
		}
	}
	slices.SortFunc(d.objects, func(x, y reflect.Type) int { return strings.Compare(x.Name(), y.Name()) })
	for _, t := range d.objects {
		b.WriteString("\n" + d.object(t))
	}
	return b.String()
}

// object describes an object: a sentence, and a line for each field, with the comment beside the
// field, or, of an embedded type, with its tag.
func (d *describer) object(t reflect.Type) string {
	declared, doc := d.source(t)
	beside := map[string]string{}
	for _, field := range declared.Fields.List {
		for _, name := range field.Names {
			beside[name.Name] = strings.TrimSpace(field.Comment.Text())
		}
	}
	var names, types, comments []string
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		require.NotEmpty(d.t, name, "%s.%s", t, f.Name)
		if name == "-" {
			continue
		}
		if options == "omitempty" || options == "omitzero" {
			name += "?"
		}
		comment := f.Tag.Get("doc")
		if len(f.Index) == 1 {
			comment = beside[f.Name]
		}
		names, types, comments = append(names, name), append(types, d.typeName(f.Type)), append(comments, comment)
	}
	var b strings.Builder
	b.WriteString(doc.Text())
	for i := range names {
		line := fmt.Sprintf("  %-*s  %-*s  %s", width(names), names[i], width(types), types[i], comments[i])
		fmt.Fprintln(&b, strings.TrimRight(line, " "))
	}
	return b.String()
}

// width is the length of the longest text.
func width(texts []string) (n int) {
	for _, text := range texts {
		n = max(n, len(text))
	}
	return n
}

// The text of jobagent help output describes the types. go test ./cmd/jobagent/internal/cli -run
// TestShapesText -shapes.write generates it again.
func TestShapesText(t *testing.T) {
	t.Parallel()
	d := &describer{t: t, specs: map[string]map[string]*ast.TypeSpec{}, docs: map[*ast.TypeSpec]*ast.CommentGroup{}}
	const file = "../output/shapes.txt"
	text := d.text()
	if *writeShapes {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text, string(want), "shapes.txt is out of date: run the test with -shapes.write")
}
