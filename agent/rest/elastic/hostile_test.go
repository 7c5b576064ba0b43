package elastic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// What a body at the limit of the front means takes a bounded time and memory. The parser of all
// bodies has its own rows in agent/rest/internal/body.
func TestHostileBodies(t *testing.T) { //nolint:paralleltest // it measures
	const limit = 4 << 20  // of the front (agent/rest)
	const values = 100_000 // of agent/rest/internal/body
	p := &place{entry: &rest.Entry{DNSSuffix: ".example.com"}, agent: "a"}
	request := func(text string) *rest.Request {
		return &rest.Request{Path: map[string]string{"agent": "a"}, Body: []byte(text)}
	}
	group := func(text string) error { _, err := p.readMembers(request(text), "g"); return err }
	job := func(text string) error { _, err := p.readJob(request(text), "j"); return err }
	step := func(text string) error { _, err := p.readStep(request(text), steps{job: "j"}, "s"); return err }
	agent := func(text string) error { _, err := (&agents{}).readPatch(request(text)); return err }
	var named strings.Builder
	for i := range bounds.Size(values - 10) {
		fmt.Fprintf(&named, `"n%d":"",`, i)
	}
	member := func(credential string) string {
		return `{"membershipType":"Include","type":"SqlDatabase","serverName":"s","databaseName":"d","elasticPoolName":"p","shardMapName":"s","refreshCredential":"` + credential + `"},`
	}
	members := func(one string, n int) string {
		return `{"properties":{"members":[` + strings.TrimSuffix(bounds.Repeat(one, n), ",") + "]}}"
	}
	bounds.Check(t, bounds.Cases(map[string]string{
		"members":          members(member(""), maxMembers),
		"credentials":      members(member(strings.Repeat("/", 200)), maxMembers),
		"long members":     members(`{"type":"SqlServer","serverName":"`+strings.Repeat("s", 300)+`"},`, maxMembers),
		"too many members": members(`{"type":"SqlServer"},`, values/2-10),
		"empty members":    members("{},", values-10),
	}, group))
	bounds.Check(t, bounds.Cases(map[string]string{
		"tags":       `{"tags":{` + named.String() + `"z":""}}`,
		"identities": `{"identity":{"type":"UserAssigned","userAssignedIdentities":{` + strings.ReplaceAll(named.String(), `""`, "{}") + `"z":{}}}}`,
	}, agent))
	bounds.Check(t, bounds.Cases(map[string]string{
		"an interval":   `{"properties":{"schedule":{"type":"recurring","interval":"P` + bounds.Repeat("1D", limit/2-100) + `"}}}`,
		"a start":       `{"properties":{"schedule":{"startTime":"` + bounds.Repeat("2026-", limit/5-100) + `"}}}`,
		"a description": `{"properties":{"description":"` + bounds.Repeat(`\ud83d\ude00`, limit/12-100) + `"}}`,
	}, job))
	bounds.Check(t, bounds.Cases(map[string]string{
		"a command":    `{"properties":{"targetGroup":"g","action":{"value":"` + bounds.Repeat(`$(a)`, limit/4-100) + `"}}}`,
		"a group's id": `{"properties":{"action":{"value":"x"},"targetGroup":"` + bounds.Repeat("/", limit-200) + `"}}`,
	}, step))
}
