package elastic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/testenv/front"
)

// A target group is asked over REST. Only the caller that asked, and administrators, get the
// answers.
func TestQuestions(t *testing.T) {
	f := front.Shared(t)
	set := func(value string) {
		_, err := f.DB(t, f.Control).ExecContext(t.Context(), "EXECUTE jobs.sp_set_setting N'questions', "+value)
		require.NoError(t, err)
	}
	set("NULL")
	body := props("targetGroupName", "g1", "question", "SELECT DB_NAME() AS db, CAST(9007199254740993 AS BIGINT) AS n, NULL AS x; SELECT 1 AS one", "maxRows", 100)
	refused(t, f, 400, "ElasticJobsOperationFailed", "50422", "POST", at("questions"), body)
	set("1")
	require.Equal(t, 403, f.DoAs(t, rest.RoleReader, "POST", at("questions"), body).Status)
	require.Equal(t, 200, f.DoAs(t, rest.RoleReader, "GET", at("questions"), nil).Status)
	for _, wrong := range []obj{{}, props("targetGroupName", "g1"), props("targetGroupName", "g1", "question", "SELECT 1", "more", 1)} {
		refused(t, f, 400, "InvalidResourceRequestBody", "", "POST", at("questions"), wrong)
	}
	refused(t, f, 400, "ElasticJobsOperationFailed", "50424", "POST", at("questions"), props("targetGroupName", "g1", "question", "SELECT 1", "maxRows", 0))

	asked := f.DoAs(t, rest.RoleOperator, "POST", at("questions"), body)
	require.Equal(t, 200, asked.Status, asked.Body)
	id := asked.At(t, "name").(string)
	var one front.Answer
	require.Eventually(t, func() bool {
		one = f.DoAs(t, rest.RoleOperator, "GET", at("questions", id), nil)
		return one.At(t, "properties.endTime") != nil
	}, 30*time.Second, 50*time.Millisecond)
	require.Equal(t, "Succeeded", one.At(t, "properties.lifecycle"))
	require.EqualValues(t, 4, one.At(t, "properties.rowCount"))
	require.Equal(t, "one", one.At(t, "properties.shapes.1.columns.0.name"))
	rows := f.DoAs(t, rest.RoleOperator, "GET", at("questions", id, "rows")+"&$top=100", nil)
	require.Len(t, rows.At(t, "value"), 4)
	require.Contains(t, rows.Body, `9007199254740993,null]`)
	paged := f.DoAs(t, rest.RoleOperator, "GET", at("questions", id, "rows")+"&$top=1&$skip=3", nil)
	require.EqualValues(t, 4, paged.At(t, "value.0.rowNumber"))
	require.Len(t, paged.At(t, "value"), 1)

	other := f.DoAs(t, rest.RoleAuthor, "GET", at("questions", id), nil)
	require.Equal(t, false, other.At(t, "properties.isReadable"))
	require.NotContains(t, other.Body, "DB_NAME")
	require.Empty(t, f.DoAs(t, rest.RoleAuthor, "GET", at("questions", id, "rows"), nil).At(t, "value"))
	require.Len(t, ok(t, f, 200, "GET", at("questions", id, "rows")+"&$top=100", nil).At(t, "value"), 4, "an administrator reads all")
	require.Equal(t, id, ok(t, f, 200, "GET", at("questions")+"&$top=1", nil).At(t, "value.0.name"))
	ok(t, f, 200, "POST", at("questions", id, "cancel"), nil)
	for _, unknown := range []string{"999999", "x", "01"} {
		refused(t, f, 404, "ResourceNotFound", "", "GET", at("questions", unknown), nil)
		refused(t, f, 404, "ResourceNotFound", "", "GET", at("questions", unknown, "rows"), nil)
		refused(t, f, 404, "ResourceNotFound", "", "POST", at("questions", unknown, "cancel"), nil)
	}
}
