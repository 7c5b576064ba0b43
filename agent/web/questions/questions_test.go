package questions

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/questions"
	"github.com/jobagent/jobagent/testenv/pagetest"
)

const hostile = pagetest.Hostile

// plain returns the text of a page.
func plain(html string) string { return regexp.MustCompile(`<[^>]*>`).ReplaceAllString(html, "") }

// TestBlocks: each block has one element whose id is its name, and nothing that only the
// person who asked may see.
func TestBlocks(t *testing.T) {
	count := 4
	q := questions.Question{ID: 7, TargetGroup: hostile, Text: "SELECT secret", Message: "secret", AskedBy: hostile, Lifecycle: "InProgress", Active: true, Targets: &count, Answered: 2, Failed: 1, Paused: 1, Rows: 9}
	for name, data := range map[string]any{"questions-list": &listData{[]questions.Question{q}}, "question-progress": &oneData{Question: q}} {
		html := strings.TrimSpace(pagetest.Render(t, files, name, data))
		require.True(t, strings.HasPrefix(html, `<div id="`+name+`"`), html)
		require.Equal(t, 1, strings.Count(html, `id="`+name+`"`))
		require.Contains(t, html, "U+202E")
		require.NotContains(t, html, "secret")
		require.NotContains(t, html, "data-ended")
	}
	require.Contains(t, plain(pagetest.Render(t, files, "question-progress", &oneData{Question: q})), "2 of 3 databases have answered, 1 failed; 1 is paused")
	q.Active = false
	require.Contains(t, pagetest.Render(t, files, "question-progress", &oneData{Question: q}), "data-ended")
	require.Contains(t, pagetest.Render(t, files, "questions-list", &listData{}), "Nobody has asked")
}

// answer returns a row with the values of a JSON array.
func answer(t *testing.T, values string) (r questions.Row) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(values), &r.Values))
	return r
}

// TestQuestionPage: rows are shown by shape, with hostile names and values.
func TestQuestionPage(t *testing.T) {
	head := columns(questions.Shape{Columns: []questions.Column{{Name: hostile, Kind: "text"}, {Kind: "number"}}})
	values, err := cells(answer(t, `["<img src=x onerror=alert(1)>\u202e", 12345678901234567890.50]`), head)
	require.NoError(t, err)
	empty, err := cells(answer(t, `[null, null]`), head)
	require.NoError(t, err)
	d := &oneData{Question: questions.Question{ID: 7, TargetGroup: hostile, Text: hostile, Message: hostile, Readable: true, Cut: true, Credential: hostile, MaxRowsOfTarget: 5}}
	d.Tables = []table{{Shape: 1, ResultSet: 1, Columns: head, Rows: []row{{hostile, hostile, values}, {"s", "d", empty}}}, {Shape: 2, ResultSet: 2, Columns: head}}
	d.Errors = []failure{{questions.Error{Message: hostile, Targets: 3, Names: []string{hostile, "s/d"}}}}
	d.Next = "?after=200"
	html := pagetest.Render(t, files, "question.html", d)
	for _, want := range []string{"12345678901234567890.50", "column 2", "NULL", "Answers of shape 2, result set 2", "and 1 more", "Further rows", "a limit has cut them off", "No rows.", "at most"} {
		require.Contains(t, plain(html), want)
	}
	d.Readable = false
	html = pagetest.Render(t, files, "question.html", d)
	require.Contains(t, html, "Only who asked")
	require.NotContains(t, html, "12345678901234567890.50")
	_, err = cells(answer(t, `[1]`), head)
	require.Error(t, err)
}

func TestCSV(t *testing.T) {
	head := make([]column, 6)
	line, err := cells(answer(t, `[null, "", "a\"b,c", 1.50, true, " x"]`), head)
	require.NoError(t, err)
	var b strings.Builder
	writeCSV(&b, line)
	require.Equal(t, ",\"\",\"a\"\"b,c\",1.50,1,\" x\"\r\n", b.String())
}
