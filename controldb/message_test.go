package controldb_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/message"
)

func TestParseMessage(t *testing.T) {
	t.Parallel()
	text := func(s string) message.Part { return message.Part{Kind: message.Text, Text: s} }
	value := func(s string) message.Part { return message.Part{Kind: message.Value, Text: s} }
	parameter := func(name string) message.Part {
		return message.Part{Kind: message.Parameter, Text: "@" + name, Name: name}
	}
	for _, c := range []struct {
		text string
		want message.Message
	}{
		{"", nil},
		{"Invalid @retry_attempts -1: want at least 0.", message.Message{text("Invalid "), parameter("retry_attempts"), text(" -1: want at least 0.")}},
		{"Disable it with jobs.sp_update_job @enabled = 0.", message.Message{
			text("Disable it with "), {Kind: message.Procedure, Text: "jobs.sp_update_job", Name: "jobs.sp_update_job"}, text(" "),
			{Kind: message.Parameter, Text: "@enabled = 0", Name: "enabled", Of: "jobs.sp_update_job", Value: "0"}, text("."),
		}},
		{"@force = 10 or @force = x", message.Message{parameter("force"), text(" = 10 or "), parameter("force"), text(" = x")}},
		{"The view jobs.jobs lists all jobs, as jobs.limits.", message.Message{
			{Kind: message.View, Text: "The view jobs.jobs lists", Name: "jobs.jobs", Lists: true}, text(" all jobs, as "),
			{Kind: message.View, Text: "jobs.limits", Name: "jobs.limits"}, text("."),
		}},
		{"the view jobs.jobs has", message.Message{text("the view "), {Kind: message.View, Text: "jobs.jobs", Name: "jobs.jobs"}, text(" has")}},
		{"@job_name is NULL or empty.", message.Message{parameter("job_name"), text(" "), {Kind: message.Missing, Text: "is NULL"}, text(" or empty.")}},
		{"run CFF0E395-1CCF-46F2-8BF3-D59C11379EB7-1, CFF0E395-1CCF-46F2-8BF3-D59C11379EB7", message.Message{
			text("run CFF0E395-1CCF-46F2-8BF3-D59C11379EB7-1, "), {Kind: message.Run, Text: "CFF0E395-1CCF-46F2-8BF3-D59C11379EB7"},
		}},
		// What stands in quotes is data.
		{"'@job_name' of N'jobs.jobs' is \"@x\".", message.Message{value("'@job_name'"), text(" of "), value("N'jobs.jobs'"), text(" is "), value(`"@x"`), text(".")}},
		{"the job 'it's @mine' has", message.Message{text("the job "), value("'it's @mine'"), text(" has")}},
		{"N'' is the step's, the steps' name", message.Message{value("N''"), text(" is the step's, the steps' name")}},
		{"'open @x", message.Message{text("'open "), parameter("x")}},
		// Neither begins nor ends within a word.
		{"a@b.example.com $@x @@x @X myjobs.jobs x.jobs.jobs jobs. this NULL is NULLs", message.Message{
			text("a@b.example.com $@x @@x @X myjobs.jobs x.jobs.jobs jobs. this NULL is NULLs"),
		}},
	} {
		require.Equal(t, c.want, message.Parse(c.text), c.text)
	}
}

func TestPlainMessage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Missing job name: @job_name is NULL or empty.":      "Missing job name: job name is missing or empty.",
		"N'*' with @force = 1 in jobs.jobs, not '@job_name'": "'*' with force = 1 in jobs.jobs, not '@job_name'",
		"CFF0E395-1CCF-46F2-8BF3-D59C11379EB7":               "cff0e395-1ccf-46f2-8bf3-d59c11379eb7",
	} {
		require.Equal(t, want, message.Parse(text).Words(message.Part.Plain))
	}
}

// The parts of each text make the text again, and each part is read the same way when it is alone.
func FuzzParseMessage(f *testing.F) {
	for _, text := range []string{
		"@step_id 3 and @step_name 'it's' refer to different steps of the job N'x'. Use jobs.sp_update_job @enabled = 0.",
		"The view jobs.jobs lists CFF0E395-1CCF-46F2-8BF3-D59C11379EB7; @a is NULL", "\xff'\"@", "jobs.sp_ @", "'é'é@é jobs.é",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m := message.Parse(text)
		require.Equal(t, text, m.String())
		for i, p := range m {
			require.NotEmpty(t, p.Text)
			if p.Kind == message.Text {
				require.False(t, i > 0 && m[i-1].Kind == message.Text, "two texts in a row")
				continue
			}
			alone := p
			alone.Of = ""
			require.Equal(t, message.Message{alone}, message.Parse(p.Text))
			require.Equal(t, p.Kind == message.Parameter || p.Kind == message.Procedure || p.Kind == message.View, p.Name != "")
			require.Contains(t, p.Text, strings.TrimPrefix(p.Name, "@"))
		}
	})
}
