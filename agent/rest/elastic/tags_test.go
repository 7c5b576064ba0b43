package elastic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/front"
)

// Members by tags are an extension: a GET shows them, and its answer can be PUT again.
func TestMembersByTags(t *testing.T) {
	f := front.Shared(t)
	path := at("targetGroups", "tagged")
	member := obj{"membershipType": "Include", "type": "Tag", "tagFilter": "tier = 'gold'"}
	ok(t, f, 201, "PUT", path, obj{"properties": obj{"members": []obj{member}}})
	a := ok(t, f, 200, "GET", path, nil)
	require.Contains(t, a.Body, `"members":[{"membershipType":"Include","type":"Tag","tagFilter":"tier = 'gold'"}]`)
	require.JSONEq(t, a.Body, ok(t, f, 200, "PUT", path, a.JSON(t)).Body)
	refused(t, f, 400, "ElasticJobsOperationFailed", "50452", "PUT", path,
		obj{"properties": obj{"members": []obj{{"type": "Tag", "tagFilter": "tier = gold"}}}})
	refused(t, f, 400, "ElasticJobsOperationFailed", "50024", "PUT", path, obj{"properties": obj{"members": []obj{{"type": "Tag"}}}})
	refused(t, f, 400, "ElasticJobsOperationFailed", "50025", "PUT", path,
		obj{"properties": obj{"members": []obj{{"type": "SqlServer", "serverName": "s", "tagFilter": "tier = 'gold'"}}}})
}
