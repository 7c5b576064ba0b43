package sap

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/testenv/bounds"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	eq := func(property, value string) condition { return condition{property: property, value: value} }
	has := func(property, value string) condition {
		return condition{property: property, contains: true, value: value}
	}
	for text, want := range map[string][][]condition{
		"name eq 'a'": {{eq("name", "a")}},
		"name eq 'a' and subDomain eq 'x' or tenantId eq 't'": {{eq("name", "a"), eq("subDomain", "x")}, {eq("tenantId", "t")}}, // 54
		"name eq 'a' or subDomain eq 'x' and tenantId eq 't'": {{eq("name", "a")}, {eq("subDomain", "x"), eq("tenantId", "t")}},
		"contains(name, 'my_job(''part one'')')":              {{has("name", "my_job('part one')")}},
		"CONTAINS ( name ,'x' )AND name EQ ''":                {{has("name", "x"), eq("name", "")}},
		"name eq''''":                                         {{eq("name", "'")}},
		"\tname eq 'ü;&' ":                                    {{eq("name", "ü;&")}},
	} {
		got, err := parseFilter(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"":                                  "position 1: want contains(",
		"(name eq 'a')":                     "position 1: want contains(", // 54
		"name eq 'a' and (name eq 'b')":     "position 17: want contains(",
		"name ne 'a'":                       "position 6: want eq",
		"Name eq 'a'":                       "position 1: want one of name, subDomain, tenantId",
		"name eq 'a":                        "position 9: want a text in single quotes; its end is missing",
		"name eq 'ü' xor name eq 'b'":       "position 13: want and, or, or the end",
		"name eq a":                         "position 9: want a text in single quotes",
		"contains(name 'a')":                "position 15: want ,",
		"contains name, 'a')":               "position 10: want (",
		"contains(name, 'a'":                "position 19: want )",
		"name eq 'a' and":                   "position 16: want contains(",
		"name eq 'a'; DROP TABLE jobs.jobs": "position 12: want and, or, or the end",
		"name eq '" + strings.Repeat("x", maxFilter) + "'": "position 1: want at most 4096 bytes",
		"name eq '\xff'": "position 1: want text in UTF-8",
	} {
		_, err := parseFilter(text)
		require.ErrorContains(t, err, want, text)
	}
	many := strings.Repeat("name eq 'a' or ", maxConditions)
	_, err := parseFilter(many + "name eq 'a'")
	require.ErrorContains(t, err, "at most 50 comparisons")
}

func FuzzFilter(f *testing.F) {
	for _, text := range []string{"name eq 'a' and contains(subDomain, 'x''y') or tenantId eq ''", "name eq 'ü", "(", "a\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var list [][]condition
		var err error
		bounds.Allocations(t, len(text), 64<<10, 1000, func() { list, err = parseFilter(text) })
		var fault *filterError
		if errors.As(err, &fault) {
			require.Positive(t, fault.position)
			require.LessOrEqual(t, fault.position, len(text)+1)
			return
		}
		require.NoError(t, err)
		// The canonical text of the result gives the result again.
		var alternatives []string
		for _, all := range list {
			var terms []string
			for _, c := range all {
				value := "'" + strings.ReplaceAll(c.value, "'", "''") + "'"
				term := c.property + " eq " + value
				if c.contains {
					term = "contains(" + c.property + "," + value + ")"
				}
				terms = append(terms, term)
			}
			alternatives = append(alternatives, strings.Join(terms, " and "))
		}
		if canonical := strings.Join(alternatives, " or "); len(canonical) <= maxFilter {
			again, err := parseFilter(canonical)
			require.NoError(t, err)
			require.Equal(t, list, again)
		}
	})
}

func TestSearch(t *testing.T) {
	t.Parallel()
	no := false
	q, faults := parseSearch("job startTime:>2011-02-18 active:false  endTime:<=2012-01-02T03:04:05")
	require.Empty(t, faults)
	require.Equal(t, query{
		words: []string{"job"}, active: &no,
		times: []timeTerm{
			{operator: ">", at: time.Date(2011, 2, 18, 0, 0, 0, 0, time.UTC)},
			{end: true, operator: "<=", at: time.Date(2012, 1, 2, 3, 4, 5, 0, time.UTC)},
		},
	}, q)
	for text, want := range map[string][]string{
		"":                                {textNoQuery},
		" \t ":                            {textNoQuery},
		"owner:me":                        {textUnknownField},
		"https://x/":                      {textUnknownField},
		"active:true active:true":         {textActiveTwice},
		"active:yes":                      {textActiveValue},
		"startTime:2011-02-18":            {"Operator not specified for startTime"},
		"endTime:=>2011-02-18":            {"Operator not specified for endTime"},
		"endTime:":                        {"Operator not specified for endTime"},
		"startTime:>2011-02-30":           {textDateFormat},
		"startTime:>2011-02-18T01:02:03Z": {textDateFormat},
		"startTime:>2011-02-18T25:02:03":  {textDateFormat},
		"startTime:>2011-02-18T01:02:0.5": {textDateFormat},
		"startTime:>0000-02-18":           {textDateFormat},
		"a x:1 startTime:1 endTime:<now":  {textUnknownField, "Operator not specified for startTime", textDateFormat},
		strings.Repeat("a ", 51):          {textSearchLong},
		strings.Repeat("a", maxSearch+1):  {textSearchLong},
		"\xff":                            {textSearchUTF8},
	} {
		_, faults := parseSearch(text)
		require.Equal(t, len(want), len(faults), text)
		for i := range want {
			require.Equal(t, want[i], faults[i].text, text)
		}
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("job startTime:>2011-02-18 active:false endTime:<=2012-01-02T03:04:05")
	f.Add("active:: startTime:<<")
	f.Fuzz(func(t *testing.T, text string) {
		var q query
		var faults []fault
		bounds.Allocations(t, len(text), 64<<10, 1000, func() { q, faults = parseSearch(text) })
		if len(faults) == 0 {
			require.True(t, len(q.words) > 0 || q.active != nil || len(q.times) > 0)
			require.LessOrEqual(t, len(q.words)+len(q.times), maxConditions)
		}
	})
}

func TestPaging(t *testing.T) {
	t.Parallel()
	q := func(pairs ...string) (list rest.Query) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, rest.QueryValue{Name: pairs[i], Value: pairs[i+1]})
		}
		return list
	}
	for _, c := range []struct {
		query  rest.Query
		want   page
		faults []string
	}{
		{q(), page{}, nil},
		{q("offset", "0"), page{given: true, size: 10}, nil},
		{q("page_size", "100", "offset", "99999"), page{given: true, size: 100, offset: 99999}, nil},
		{q("page_size", "0"), page{given: true, size: 10}, []string{textPageSize}},
		{q("page_size", "101"), page{}, []string{textPageSize}},
		{q("page_size", "undefined", "offset", "-1"), page{}, []string{textPageSize, textOffset}},
		{q("page_size", ""), page{}, []string{textPageSize}},
		{q("page_size", "1e1"), page{}, []string{textPageSize}},
		{q("offset", "99999999999999999999"), page{}, []string{textOffset}},
		{q("offset", "٣"), page{}, []string{textOffset}},
	} {
		got, faults := parsePage(c.query, 100)
		var texts []string
		for _, f := range faults {
			texts = append(texts, f.text)
		}
		require.Equal(t, c.faults, texts, "%v", c.query)
		if len(faults) == 0 {
			require.Equal(t, c.want, got, "%v", c.query)
		}
	}
}

func TestURLsOfPages(t *testing.T) {
	t.Parallel()
	text := func(s *string) string {
		if s == nil {
			return "null"
		}
		return *s
	}
	for _, c := range []struct {
		size, offset, total int
		prev, next          string
	}{
		{10, 0, 25, "null", "/x?page_size=10&offset=10"},
		{10, 10, 25, "/x?page_size=10", "/x?page_size=10&offset=20"},
		{10, 20, 25, "/x?page_size=10&offset=10", "null"},
		{10, 99999, 25, "/x?page_size=10&offset=99989", "null"},
		{1, 1, 2, "/x?page_size=1", "null"},
		{10, 3, 3, "/x?page_size=10", "null"},
		{100, 0, 100, "null", "null"},
		{0, 0, 1000, "null", "null"},
	} {
		prev, next := page{size: c.size, offset: c.offset}.urls("/x", "", c.total)
		require.Equal(t, c.prev, text(prev))
		require.Equal(t, c.next, text(next))
	}
	_, next := page{size: 1}.urls("/scheduler/search/jobs", searchParameter("a b&c"), 2)
	require.Equal(t, "/scheduler/search/jobs?q=a+b%26c&page_size=1&offset=1", text(next))
}
