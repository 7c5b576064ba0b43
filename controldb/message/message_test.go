package message

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	text := func(s string) Part { return Part{Kind: Text, Text: s} }
	value := func(s string) Part { return Part{Kind: Value, Text: s} }
	parameter := func(name string) Part { return Part{Kind: Parameter, Text: "@" + name, Name: name} }
	for _, c := range []struct {
		text string
		want Message
	}{
		{"", nil},
		{"Invalid @retry_attempts -1: want at least 0.", Message{text("Invalid "), parameter("retry_attempts"), text(" -1: want at least 0.")}},
		{"Disable it with jobs.sp_update_job @enabled = 0.", Message{
			text("Disable it with "), {Kind: Procedure, Text: "jobs.sp_update_job", Name: "jobs.sp_update_job"}, text(" "),
			{Kind: Parameter, Text: "@enabled = 0", Name: "enabled", Of: "jobs.sp_update_job", Value: "0"}, text("."),
		}},
		{"@force = 10 or @force = x", Message{parameter("force"), text(" = 10 or "), parameter("force"), text(" = x")}},
		{"The view jobs.jobs lists all jobs, as jobs.limits.", Message{
			{Kind: View, Text: "The view jobs.jobs lists", Name: "jobs.jobs", Lists: true}, text(" all jobs, as "),
			{Kind: View, Text: "jobs.limits", Name: "jobs.limits"}, text("."),
		}},
		{"the view jobs.jobs has", Message{text("the view "), {Kind: View, Text: "jobs.jobs", Name: "jobs.jobs"}, text(" has")}},
		{"@job_name is NULL or empty.", Message{parameter("job_name"), text(" "), {Kind: Missing, Text: "is NULL"}, text(" or empty.")}},
		{"run CFF0E395-1CCF-46F2-8BF3-D59C11379EB7-1, CFF0E395-1CCF-46F2-8BF3-D59C11379EB7", Message{
			text("run CFF0E395-1CCF-46F2-8BF3-D59C11379EB7-1, "), {Kind: Run, Text: "CFF0E395-1CCF-46F2-8BF3-D59C11379EB7"},
		}},
		// What stands in quotes is data.
		{"'@job_name' of N'jobs.jobs' is \"@x\".", Message{value("'@job_name'"), text(" of "), value("N'jobs.jobs'"), text(" is "), value(`"@x"`), text(".")}},
		{"the job 'it's @mine' has", Message{text("the job "), value("'it's @mine'"), text(" has")}},
		{"N'' is the step's, the steps' name", Message{value("N''"), text(" is the step's, the steps' name")}},
		{"'open @x", Message{text("'open "), parameter("x")}},
		// Neither begins nor ends within a word.
		{"a@b.example.com $@x @@x @X myjobs.jobs x.jobs.jobs jobs. this NULL is NULLs", Message{
			text("a@b.example.com $@x @@x @X myjobs.jobs x.jobs.jobs jobs. this NULL is NULLs"),
		}},
	} {
		require.Equal(t, c.want, Parse(c.text), c.text)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Missing job name: @job_name is NULL or empty.":      "Missing job name: job name is missing or empty.",
		"N'*' with @force = 1 in jobs.jobs, not '@job_name'": "'*' with force = 1 in jobs.jobs, not '@job_name'",
		"CFF0E395-1CCF-46F2-8BF3-D59C11379EB7":               "cff0e395-1ccf-46f2-8bf3-d59c11379eb7",
	} {
		require.Equal(t, want, Parse(text).Words(Part.Plain))
	}
}

// The parts of each text make the text again, and each part is read the same way when it is alone.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"@step_id 3 and @step_name 'it's' refer to different steps of the job N'x'. Use jobs.sp_update_job @enabled = 0.",
		"The view jobs.jobs lists CFF0E395-1CCF-46F2-8BF3-D59C11379EB7; @a is NULL", "\xff'\"@", "jobs.sp_ @", "'é'é@é jobs.é",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m := Parse(text)
		require.Equal(t, text, m.String())
		for i, p := range m {
			require.NotEmpty(t, p.Text)
			if p.Kind == Text {
				require.False(t, i > 0 && m[i-1].Kind == Text, "two texts in a row")
				continue
			}
			alone := p
			alone.Of = ""
			require.Equal(t, Message{alone}, Parse(p.Text))
			require.Equal(t, p.Kind == Parameter || p.Kind == Procedure || p.Kind == View, p.Name != "")
			require.Contains(t, p.Text, strings.TrimPrefix(p.Name, "@"))
		}
	})
}
