package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/front"
)

// TestQuestions: an operator asks, sees the answers, and downloads them; another person does not.
// Questions are refused until an administrator switches them on.
func TestQuestions(t *testing.T) {
	f := front.Shared(t)
	b := as(t, f, "operator")
	path := base + "/questions/ask"
	_, err := f.DB(t, f.Control).ExecContext(t.Context(), `EXECUTE jobs.sp_set_setting N'questions', NULL;`)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, as(t, f, "reader").get(path).Status)
	require.NotContains(t, as(t, f, "reader").get(base+"/jobs").Body, base+"/questions")
	form := func(further ...string) front.Answer {
		return b.post(path, b.form(path, append([]string{"target_group", "g1", "max_rows", "10", "timeout_seconds", "20"}, further...)...))
	}
	require.Contains(t, form("question", "SELECT 1").Body, "an administrator sets the setting")
	_, err = f.DB(t, f.Control).ExecContext(t.Context(), `EXECUTE jobs.sp_set_setting N'questions', 1;`)
	require.NoError(t, err)
	require.Contains(t, form("question", "  ").Body, "Invalid question: want a T-SQL text")
	require.Contains(t, form("question", "SELECT 1", "max_rows", "x").Body, "Want a number from 1 to 10,000.")
	require.Contains(t, form("question", "SELECT 1", "timeout_seconds", "601").Body, "Want a number from 1 to 600.")
	require.Contains(t, form("question", "SELECT 1", "max_rows_of_target", "0").Body, "Want a number from 1 to 10,000.")

	asked := form("question", "SELECT DB_NAME() AS db, N'<i>,' AS b, NULL AS c")
	require.Equal(t, http.StatusSeeOther, asked.Status, asked.Body)
	one := asked.Header.Get("Location")
	require.True(t, strings.HasPrefix(one, base+"/questions/"), one)
	var page front.Answer
	require.Eventually(t, func() bool {
		page = b.get(one)
		return strings.Contains(page.Body, "data-ended")
	}, 30*time.Second, 50*time.Millisecond)
	require.Contains(t, page.Body, "Succeeded")
	require.Contains(t, page.Body, "&lt;i&gt;,")
	require.Contains(t, page.Body, " by <bdi>operator-token")
	file := b.get(one + "/answers?shape=1")
	require.Equal(t, "text/csv; charset=utf-8", file.Header.Get("Content-Type"))
	require.True(t, strings.HasPrefix(file.Body, "server_name,database_name,db,b,c\r\n"), file.Body)
	require.Contains(t, file.Body, `,"<i>,",`+"\r\n")
	require.Contains(t, b.get(path+"?like="+one[strings.LastIndexByte(one, '/')+1:]).Body, "DB_NAME()")
	require.Contains(t, b.get(base+"/questions").Body, one)
	require.Contains(t, b.get(one+"/cancel").Body, "It has ended already")

	other := as(t, f, "author").get(one)
	require.Contains(t, other.Body, "Only who asked")
	require.NotContains(t, other.Body, "DB_NAME")
	require.NotContains(t, as(t, f, "author").get(one+"/answers").Body, "<i>")
	require.NotContains(t, as(t, f, "author").get(path+"?like="+one[strings.LastIndexByte(one, '/')+1:]).Body, "DB_NAME")
	require.Contains(t, as(t, f, "admin").get(one).Body, "&lt;i&gt;,")
	require.Equal(t, http.StatusNotFound, b.get(base+"/questions/999999").Status)
	require.Equal(t, http.StatusNotFound, b.get(base+"/questions/x/answers").Status)
	require.Equal(t, http.StatusNotFound, b.get(base+"/questions/999999/cancel").Status)

	// A question that runs is canceled.
	asked = form("question", "WAITFOR DELAY '00:00:19'")
	one = asked.Header.Get("Location")
	require.Eventually(t, func() bool { return strings.Contains(b.get(one).Body, "In progress") }, 30*time.Second, 50*time.Millisecond)
	require.Contains(t, b.stream(base+"/events?topic=question/"+one[strings.LastIndexByte(one, '/')+1:], "question-progress"), "question-progress")
	require.Equal(t, http.StatusSeeOther, b.post(one+"/cancel", b.form(one+"/cancel")).Status)
	require.Eventually(t, func() bool { return strings.Contains(b.get(one).Body, "Canceled by") }, 15*time.Second, 50*time.Millisecond)
}
