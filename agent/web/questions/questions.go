// Package questions has the pages about questions to target groups, which agents carry out.
package questions

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/questions"
)

const (
	// shownQuestions is how many questions the list has: those that are kept.
	shownQuestions = 100
	// shownRows is how many rows a page has.
	shownRows = 200
	// readRows is how many rows one read of a file takes.
	readRows = 2000
)

// The blocks that are updated live. They have what every operator may see: no text of a question,
// and no answer.
var (
	listBlocks = []string{"questions-list"}
	oneBlocks  = []string{"question-progress"}
)

// listData is what the list shows.
type listData struct{ Questions []questions.Question }

// list makes the page of the last questions.
func list(ctx context.Context, r *page.Request) (*page.View, error) {
	questions, err := questions.On(r.Store).Questions(ctx, shownQuestions)
	if err != nil {
		return nil, err
	}
	return &page.View{
		Title: "Questions", Nav: "questions", Template: "questions", Data: &listData{questions}, Topic: "questions",
		Actions: []page.Link{{Text: "Ask a question", Href: r.Path("questions", "ask"), Role: rest.RoleOperator}},
		Equivalents: []page.Equivalent{page.Query(
			"SELECT TOP (100) * FROM jobs.questions ORDER BY question_id DESC;")},
	}, nil
}

// openList opens the live updates of the list.
func openList(string) (live.Source, error) {
	return live.Fragments(setName, func(ctx context.Context, store *controldb.Store) (any, error) {
		questions, err := questions.On(store).Questions(ctx, shownQuestions)
		return &listData{questions}, err
	}, listBlocks...), nil
}

// oneData is what the page of a question shows.
type oneData struct {
	questions.Question
	Tables []table
	Errors []failure
	// Next leads to further rows; empty if there are none.
	Next string
}

// ToAsk is the number of databases that are to be asked.
func (d *oneData) ToAsk() int {
	if d.Targets == nil {
		return 0
	}
	return *d.Targets - d.Paused
}

// table are the rows of a shape.
type table struct {
	Shape, ResultSet int
	Columns          []column
	Rows             []row
	// File is where the rows of the shape are a file.
	File string
}

// column is a column of a table.
type column struct {
	Name  string
	Right bool // numbers
}

// row is a row of a table.
type row struct {
	Server, Database string
	Cells            []cell
}

// cell is a value; Null says that it is NULL.
type cell struct {
	Text        string
	Null, Right bool
}

// Long reports whether the value takes several lines.
func (c cell) Long() bool { return len(c.Text) > 60 }

// failure is an error of databases.
type failure struct{ questions.Error }

// More is the number of databases that are not named.
func (f failure) More() int { return f.Targets - len(f.Names) }

// number returns the question that a path names.
func number(r *page.Request) (int64, error) {
	id, err := strconv.ParseInt(r.Value("question"), 10, 64)
	if err != nil || id < 1 {
		return 0, dberror.ErrQuestionNotFound
	}
	return id, nil
}

// one makes the page of a question.
func one(ctx context.Context, r *page.Request) (*page.View, error) {
	id, err := number(r)
	if err != nil {
		return nil, err
	}
	d := &oneData{}
	if d.Question, err = questions.On(r.Store).Get(ctx, id); err != nil {
		return nil, err
	}
	after, err := strconv.Atoi(r.Query("after"))
	if err != nil || after < 0 {
		after = 0
	}
	name := strconv.FormatInt(id, 10)
	if d.Readable {
		if err := d.read(ctx, r, after); err != nil {
			return nil, err
		}
	}
	v := &page.View{
		Title: "Question " + name, Nav: "questions", Template: "question", Data: d,
		Crumbs: []page.Link{{Text: "Questions", Href: r.Path("questions")}}, Phase: d.Phase(),
		Actions: []page.Link{
			{Text: "Ask again", Href: r.Path("questions", "ask") + "?like=" + name, Role: rest.RoleOperator},
			{Text: "Cancel the question", Href: r.Path("questions", name, "cancel"), Role: rest.RoleOperator, Danger: true, When: "active"},
		},
		Equivalents: []page.Equivalent{page.Query(`DECLARE @question BIGINT = N'?';
SELECT * FROM jobs.questions WHERE question_id = @question;
SELECT * FROM jobs.question_shapes WHERE question_id = @question ORDER BY shape;
SELECT * FROM jobs.question_rows WHERE question_id = @question ORDER BY row_number;
SELECT * FROM jobs.question_errors WHERE question_id = @question ORDER BY error_group;`, id)},
	}
	if d.Active {
		v.Topic, v.Scripts = "question/"+name, []string{setName + "/ended.js"}
	}
	return v, nil
}

// Phase is the word on which actions depend.
func (d *oneData) Phase() string {
	if d.Active && d.CancelRequested.IsZero() {
		return "active"
	}
	return "over"
}

// openOne opens the live updates of a question.
func openOne(id string) (live.Source, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, dberror.ErrQuestionNotFound
	}
	return live.Fragments(setName, func(ctx context.Context, store *controldb.Store) (any, error) {
		q, err := questions.On(store).Get(ctx, n)
		return &oneData{Question: q}, err
	}, oneBlocks...), nil
}

// read reads the answers after a row.
func (d *oneData) read(ctx context.Context, r *page.Request, after int) error {
	shapes, err := questions.On(r.Store).Shapes(ctx, d.ID)
	if err != nil {
		return err
	}
	rows, err := questions.On(r.Store).Rows(ctx, d.ID, after, shownRows+1)
	if err != nil {
		return err
	}
	if len(rows) > shownRows {
		rows = rows[:shownRows]
		d.Next = fmt.Sprintf("?after=%d", rows[shownRows-1].Number)
	}
	for _, s := range shapes {
		t := table{Shape: s.Shape, ResultSet: s.ResultSet, File: r.Path("questions", strconv.FormatInt(d.ID, 10), "answers") + "?shape=" + strconv.Itoa(s.Shape)}
		t.Columns = columns(s)
		for _, one := range rows {
			if one.Shape != s.Shape {
				continue
			}
			cells, err := cells(one, t.Columns)
			if err != nil {
				return err
			}
			t.Rows = append(t.Rows, row{one.Server, one.Database, cells})
		}
		if len(t.Rows) > 0 || after == 0 {
			d.Tables = append(d.Tables, t)
		}
	}
	errs, err := questions.On(r.Store).Errors(ctx, d.ID)
	if err != nil {
		return err
	}
	for _, e := range errs {
		d.Errors = append(d.Errors, failure{e})
	}
	return nil
}

func columns(s questions.Shape) []column {
	list := make([]column, len(s.Columns))
	for i, c := range s.Columns {
		list[i] = column{Name: c.Name, Right: c.Kind == "number" || c.Kind == "bit"}
		if c.Name == "" {
			list[i].Name = fmt.Sprintf("column %d", i+1)
		}
	}
	return list
}

// cells returns the values of a row.
func cells(r questions.Row, columns []column) ([]cell, error) {
	if len(r.Values) != len(columns) {
		return nil, fmt.Errorf("row of an answer: %d values for %d columns", len(r.Values), len(columns))
	}
	list := make([]cell, len(r.Values))
	for i, v := range r.Values {
		text := string(v)
		c := cell{Text: text, Right: columns[i].Right}
		switch {
		case text == "null":
			c.Text, c.Null = "", true
		case text == "true":
			c.Text = "1"
		case text == "false":
			c.Text = "0"
		case strings.HasPrefix(text, `"`):
			if err := json.Unmarshal(v, &c.Text); err != nil {
				return nil, fmt.Errorf("value of an answer: %w", err)
			}
		}
		list[i] = c
	}
	return list, nil
}

// download answers with the rows of a shape as a file.
func download(ctx context.Context, r *page.Request) (*page.View, error) {
	id, err := number(r)
	if err != nil {
		return nil, err
	}
	if _, err := questions.On(r.Store).Get(ctx, id); err != nil {
		return nil, err
	}
	wanted, err := strconv.Atoi(r.Query("shape"))
	if err != nil {
		wanted = 1
	}
	shapes, err := questions.On(r.Store).Shapes(ctx, id)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, s := range shapes {
		if s.Shape != wanted {
			continue
		}
		head := columns(s)
		names := []cell{{Text: "server_name"}, {Text: "database_name"}}
		for _, c := range head {
			names = append(names, cell{Text: c.Name})
		}
		writeCSV(&b, names)
		for after := 0; ; {
			rows, err := questions.On(r.Store).Rows(ctx, id, after, readRows)
			if err != nil {
				return nil, err
			}
			for _, one := range rows {
				after = one.Number
				if one.Shape != wanted {
					continue
				}
				values, err := cells(one, head)
				if err != nil {
					return nil, err
				}
				writeCSV(&b, append([]cell{{Text: one.Server}, {Text: one.Database}}, values...))
			}
			if len(rows) < readRows {
				break
			}
		}
	}
	return &page.View{Write: func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="question-%d-%d.csv"`, id, wanted))
		_, _ = w.Write([]byte(b.String())) // the client may have gone
	}}, nil
}

// writeCSV writes a line as jobagent query does: nothing for NULL, and "" for an empty text.
func writeCSV(b *strings.Builder, line []cell) {
	for i, c := range line {
		if i > 0 {
			b.WriteByte(',')
		}
		switch {
		case c.Null:
		case c.Text == "" || strings.ContainsAny(c.Text, ",\"\r\n") || strings.HasPrefix(c.Text, " ") || strings.HasSuffix(c.Text, " "):
			b.WriteString(`"` + strings.ReplaceAll(c.Text, `"`, `""`) + `"`)
		default:
			b.WriteString(c.Text)
		}
	}
	b.WriteString("\r\n")
}

//go:embed *.html *.css *.js
var files embed.FS

// setName is the name of the set.
const setName = "questions"

// Set returns the pages.
func Set() page.Set {
	return page.Set{
		Name: setName, Files: files,
		Pages: []page.Page{
			{Path: "/questions", Role: rest.RoleOperator, Handle: list},
			{Path: "/questions/{question}", Role: rest.RoleOperator, Handle: one},
			{Path: "/questions/{question}/answers", Role: rest.RoleOperator, Handle: download},
		},
		Topics: []live.Topic{
			{Pattern: "questions", Interval: 2 * time.Second, Operators: true, Open: openList},
			{Pattern: "question/{id}", Interval: time.Second, Operators: true, Open: openOne},
		},
	}
}
