package xquery

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// instance is the text that most cases query.
const instance = `<r k="7"><a id="1" n="x">one</a><a id="2">two<b>in</b></a><c><a id="10">three</a></c><!--note--><?go fast?></r>`

// TestQuery compares the results of query() with SQL Server's documented or observed ones.
func TestQuery(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{`/r/a`, `<a id="1" n="x">one</a><a id="2">two<b>in</b></a>`},
		{`/r/a[2]`, `<a id="2">two<b>in</b></a>`},
		{`/r/a[last()]/b`, `<b>in</b>`},
		{`//a[@id="10"]`, `<a id="10">three</a>`},
		{`//a[@id=10]/..`, `<c><a id="10">three</a></c>`},
		{`(//a)[3]`, `<a id="10">three</a>`},
		{`//a[1]`, `<a id="1" n="x">one</a><a id="10">three</a>`},
		{`/r/child::a[attribute::n]`, `<a id="1" n="x">one</a>`},
		{`/r/*[self::c]`, `<c><a id="10">three</a></c>`},
		{`/r/comment()`, `<!--note-->`},
		{`/r/processing-instruction("go")`, `<?go fast?>`},
		{`/r/a/text()`, `onetwo`},
		{`count(//a)`, `3`},
		{`sum(//a/@id)`, `13`},
		{`max(//a/@id)`, `10`},
		{`min(//a/@id)`, `1`},
		{`avg((1, 2))`, `1.5`},
		{`data(/r/a/@id)`, `1 2`},
		{`string((/r/a)[2])`, `twoin`},
		{`concat("a", "b", string((//@k)[1]))`, `ab7`},
		{`contains((/r/a)[1], "ne")`, `true`},
		{`substring("12345", 2, 3)`, `234`},
		{`substring("12345", 0, 3)`, `12`},
		{`string-length("äb")`, `2`},
		{`upper-case("abc"), lower-case("ABC")`, `ABC abc`},
		{`local-name((/r/*)[1])`, `a`},
		{`distinct-values((1, 2, 1, "1"))`, `1 2`},
		{`2 div 3`, `0.666666`},
		{`1.23456789 * 1.1`, `1.358025`},
		{`1234567 + 1`, `1234568`},
		{`(/r/@k)[1] + 1234560`, `1.234567E6`},
		{`7 mod 4, -7 mod 4`, `3 -3`},
		{`1 div 0`, ``},
		{`round(2.5), round(-2.5), floor(-1.5), ceiling(-1.5)`, `3 -2 -2 -1`},
		{`for $a in /r/a order by $a/@id descending return string($a/@id)`, `2 1`},
		{`for $a in //a let $i := $a/@id where $i > 1 order by number($i) return <x id="{$i}">{$a/text()}</x>`,
			`<x id="2">two</x><x id="10">three</x>`},
		{`for $x in (1, 2), $y in (3, 4) return $x * $y`, `3 4 6 8`},
		{`some $a in //a satisfies $a/@id = 10`, `true`},
		{`every $a in //a satisfies $a/@id = 10`, `false`},
		{`if (/r/a) then "yes" else "no"`, `yes`},
		{`not(/r/z), not(1 = 2)`, `true true`},
		{`1 instance of xs:decimal, "a" instance of xs:integer`, `true false`},
		{`"12" cast as xs:int?`, `12`},
		{`xs:integer(1.7), xs:boolean("1"), xs:double("1e20")`, `1 true 1.0E20`},
		{`xs:int((/r/a)[1])`, ``},
		{`xs:date("2020-01-02") lt xs:date("2020-01-03Z")`, `true`},
		{`<a>{1}  {2}</a>`, `<a>12</a>`},
		{`<a>{1, 2}</a>`, `<a>1 2</a>`},
		{`<a x="{/r/a/@id}">x &lt; {{y}}<b/></a>`, `<a x="1 2">x &lt; {y}<b/></a>`},
		{`element e { attribute x { 1, 2 }, text { "t" } }`, `<e x="1 2">t</e>`},
		{`<e>{/r/@k}</e>`, `<e k="7"/>`},
		{`<!-- c -->, <?t d?>`, `<!-- c --><?t d?>`},
		{`(: c (: d :) :) /r/c/a/@id = "10"`, `true`},
		{`(/r/a)[1] is (/r/a)[1]`, `true`},
		{`/r/a[position() > 1]/@id = 2`, `true`},
		{`/r/a[@id != 1 and b]/b`, `<b>in</b>`},
		{`(1, 2) = (2, 3), (1, 2) != (1, 2), 3 = (1, 2)`, `true true false`},
	} {
		q, err := Compile(c.query, Use{Method: "query()"})
		require.NoError(t, err, c.query)
		doc, err := Read(nil, instance)
		require.NoError(t, err)
		r, err := q.Eval(nil, doc, nil)
		require.NoError(t, err, c.query)
		text, err := r.XML()
		require.NoError(t, err, c.query)
		require.Equal(t, c.want, text, c.query)
	}
}

// TestNamespaces queries instances with namespaces.
func TestNamespaces(t *testing.T) {
	for _, c := range []struct{ text, query, want string }{
		{`<r xmlns:p="urn:p"><a><p:b/></a></r>`, `/r/a`, `<a><p1:b xmlns:p1="urn:p"/></a>`},
		{`<r xmlns="urn:d"><a/></r>`, `/r/a`, ``},
		{`<r xmlns="urn:d"><a/></r>`, `declare default element namespace "urn:d"; /r/a`, `<a xmlns="urn:d"/>`},
		{`<r xmlns="urn:d"><a k="1"/></r>`, `declare namespace d="urn:d"; /d:r/d:a`, `<d:a xmlns:d="urn:d" k="1"/>`},
		{`<r xmlns="urn:d"><a/></r>`, `/*:r/*:a`, `<p1:a xmlns:p1="urn:d"/>`},
		{`<r xmlns:p="urn:p" p:k="1"/>`, `declare namespace q="urn:p"; data(/r/@q:k)`, `1`},
		{`<r xmlns="urn:d"><a xmlns=""/></r>`, `/`, `<r xmlns="urn:d"><a xmlns=""/></r>`},
		{`<r/>`, `<x xmlns="urn:x"><y/></x>`, `<x xmlns="urn:x"><y/></x>`},
		{`<r/>`, `declare namespace n="urn:n"; <n:a n:b="1"/>`, `<n:a xmlns:n="urn:n" n:b="1"/>`},
		{`<r xmlns="urn:d"><a/></r>`, `namespace-uri((/*)[1])`, `urn:d`},
	} {
		q, err := Compile(c.query, Use{Method: "query()"})
		require.NoError(t, err, c.query)
		doc, err := Read(nil, c.text)
		require.NoError(t, err)
		r, err := q.Eval(nil, doc, nil)
		require.NoError(t, err)
		text, err := r.XML()
		require.NoError(t, err)
		require.Equal(t, c.want, text, c.query)
	}
}

// TestErrors compiles queries that SQL Server refuses.
func TestErrors(t *testing.T) {
	const untyped = "'xdt:untypedAtomic *'"
	for _, c := range []struct {
		query  string
		number int32
		text   string
	}{
		{`/r/a[b eq 1]`, 2389, "'eq' requires a singleton (or empty sequence), found operand of type " + untyped},
		{`contains(/r/a, "x")`, 2389, "'contains()' requires a singleton (or empty sequence), found operand of type " + untyped},
		{`string(/r/b)`, 2389, "'string()' requires a singleton (or empty sequence), found operand of type 'element(b,xdt:untyped) *'"},
		{`for $i in (1, 2, 3) return let $j := (1, 2) order by $j return $j`, 2389, "'order by' requires a singleton (or empty sequence), found operand of type 'xs:integer +'"},
		{`/r/a + 1`, 2389, "'+' requires a singleton (or empty sequence), found operand of type " + untyped},
		{`"a" = 1`, 2234, `The operator "=" cannot be applied to "xs:string" and "xs:integer" operands.`},
		{`if (1) then 2 else 3`, 2204, ""},
		{`/r["a"]`, 2203, ""},
		{`(1, /r/a)`, 2210, "Heterogeneous sequences are not allowed: found 'xs:integer' and 'element(a,xdt:untyped) *'"},
		{`$x`, 2227, "The variable '$x' was not found in the scope in which it was referenced."},
		{`/p:r`, 2229, `The name "p" does not denote a namespace.`},
		{`concat("a")`, 2236, `There are not enough actual arguments in the call to function "concat()".`},
		{`count(1, 2)`, 2238, "Too many arguments in call to function 'count()'"},
		{`starts-with("a", "b")`, 2395, "There is no function '{http://www.w3.org/2004/07/xpath-functions}:starts-with()'"},
		{`position()`, 2371, "'position()' can only be used within a predicate or XPath selector"},
		{`/r/ancestor::a`, 9335, "The XQuery syntax 'ancestor' is not supported."},
		{`/r/up::a`, 2392, "'up::' is not a valid axis"},
		{`/r | /s`, 9335, "The XQuery syntax '|' is not supported."},
		{`1 to 2`, 9335, "The XQuery syntax 'to' is not supported."},
		{`count(<a/>)`, 2373, "count() is not supported with constructed XML"},
		{`<a/>/b`, 2373, ""},
		{`<a>{</a>`, 2209, ""},
		{`<a></b>`, 2323, ""},
		{`/r/`, 2209, "Syntax error near '<eof>'"},
		{`/r[1`, 9303, "Syntax error near '<eof>', expected ']'."},
		{`for $i at $p in /r return 1`, 9335, "The XQuery syntax 'at' is not supported."},
		{`for $i in /r 1`, 9332, "Syntax error near '1', expected 'where', '(stable) order by' or 'return'."},
		{`xs:integer("abc")`, 9319, "Static simple type validation: Invalid simple type value 'abc'."},
		{`/r/a cast as xs:int?`, 2365, "Cannot explicitly convert from 'xdt:untypedAtomic *' to 'xs:int'"},
		{`true() + 1`, 9308, ""},
		{`upper-case(1)`, 2364, "Cannot implicitly convert from 'xs:integer' to 'xs:string'"},
		{`number("12")`, 2374, ""},
		{` `, 6306, ""},
	} {
		_, err := Compile(c.query, Use{Method: "query()"})
		var e *mserr.Error
		require.ErrorAs(t, err, &e, c.query)
		require.Equal(t, c.number, e.Number, "%s: %v", c.query, err)
		require.Contains(t, e.Message, c.text, c.query)
	}
}

// TestSingletons lists paths that value() accepts and refuses.
func TestSingletons(t *testing.T) {
	for query, valid := range map[string]bool{
		`(/r/a)[1]`: true, `/r[1]/a[1]`: true, `/r/a`: false, `/r/a[1]`: false, `/r/a[@x="1"]`: false,
		`(/r/a/@id)[1]`: true, `(/r/a)[1]/@id`: true, `(/r/a)[1]/b`: false, `count(/r/a)`: true,
		`for $i in (/r/a)[1] return $i`: true, `for $i in /r/a return $i`: false, `()`: true, `"x"`: true,
		`(/r/a)[1]/..`: true, `(//a[@id=2])[1]`: true, `sum(/r/a)`: true, `(/r/a)[position()=2]`: true,
	} {
		q, err := Compile(query, Use{Method: "value()"})
		require.NoError(t, err, query)
		err = q.CheckValue("value()")
		if valid {
			require.NoError(t, err, query)
			continue
		}
		require.ErrorIs(t, err, &mserr.Error{Number: 2389}, query)
	}
}

// TestSQLValues evaluates sql:variable and sql:column.
func TestSQLValues(t *testing.T) {
	q, err := Compile(`/r/a[@id = sql:variable("@id")]/text(), text { sql:column("t.c") }`, Use{Method: "query()",
		Type: func(_ int, r SQLRef) (types.Type, error) {
			if r.Column {
				return types.NVarCharMax, nil
			}
			return types.IntType, nil
		}})
	require.NoError(t, err)
	require.Equal(t, []SQLRef{{Name: "@id"}, {Column: true, Name: "t.c"}}, q.Refs())
	doc, err := Read(nil, instance)
	require.NoError(t, err)
	r, err := q.Eval(nil, doc, []types.Value{int64(2), "x"})
	require.NoError(t, err)
	text, err := r.XML()
	require.NoError(t, err)
	require.Equal(t, "twox", text)
}

// TestRefs reads encoded references to nodes, and evaluates queries that go up from them: the
// result is that of the node itself.
func TestRefs(t *testing.T) {
	const text = `<r xmlns:p="urn:p" k="1" l="2"><a id="1" n="x"/>t<p:b m="3"><c>x<d e="4" f="5"/></c></p:b><!--z--></r>`
	doc, err := Read(nil, text)
	require.NoError(t, err)
	all, err := Compile(`/, //node(), //@*`, Use{Method: "nodes()"})
	require.NoError(t, err)
	found, err := all.Eval(nil, doc, nil)
	require.NoError(t, err)
	require.Greater(t, len(found.Nodes()), 14)
	for _, c := range []struct {
		query string
		reach Reach
	}{
		{`.`, 0}, {`data(.//@*)`, 0}, {`data(../@k), data(../../@*), data(../../../../@l)`, ReachAttributes},
		{`data(../@m)`, ReachAttributes}, {`string(..)`, 2}, {`data(../*/@id)`, 2}, {`../c`, 2}, {`for $x in .. return $x/../c/d`, 3},
		{`count(../../..//node())`, 4}, {`data(..[1]/@k)`, 2}, {`count(/r/a)`, ReachAll}, {`.[count(../*) = 2]/..`, 3},
	} {
		q, err := Compile(c.query, Use{Method: "query()", Node: true})
		require.NoError(t, err, c.query)
		require.Equal(t, c.reach, q.Reach(), c.query)
		refs := NewRefs(found.Nodes(), c.reach)
		for i, n := range found.Nodes() {
			back, err := Read(nil, refs.Text(i))
			require.NoError(t, err)
			require.Equal(t, n.kind, back.kind)
			require.Equal(t, n.name, back.name)
			require.Equal(t, n.stringValue(), back.stringValue())
			want, err := q.Eval(nil, n, nil)
			require.NoError(t, err)
			got, err := q.Eval(nil, back, nil)
			require.NoError(t, err)
			wantText, wantErr := want.XML()
			gotText, gotErr := got.XML()
			require.Equal(t, wantErr, gotErr)
			require.Equal(t, wantText, gotText, "%s of node %d", c.query, i)
		}
	}
}

// TestChange compares the results of modify() with SQL Server's.
func TestChange(t *testing.T) {
	for _, c := range []struct{ text, change, want string }{
		{`<r><a/></r>`, `insert <b/> into (/r)[1]`, `<r><a/><b/></r>`},
		{`<r><a/></r>`, `insert <b/> as first into (/r)[1]`, `<r><b/><a/></r>`},
		{`<r><a/></r>`, `insert (<b/>, <c/>) before (/r/a)[1]`, `<r><b/><c/><a/></r>`},
		{`<r><a/></r>`, `insert <b/> after (/r)[1]`, `<r><a/></r><b/>`},
		{`<a/>`, `insert <c/> into (/)[1]`, `<a/><c/>`},
		{`<a m="1" n="2" o="3" p="4"/>`, `insert attribute z {"9"} into (/a)[1]`, `<a m="1" z="9" n="2" o="3" p="4"/>`},
		{`<a m="1" n="2" o="3"/>`, `insert (attribute z {9}, attribute y {8}) into (/a)[1]`, `<a m="1" z="9" n="2" y="8" o="3"/>`},
		{`<r><b>1</b></r>`, `insert /r/b into (/r)[1]`, `<r><b>1</b><b>1</b></r>`},
		{`<r><b>1</b></r>`, `insert text {"x"} as first into (/r/b)[1]`, `<r><b>x1</b></r>`},
		{`<r><b>1</b><c/></r>`, `delete /r/b`, `<r><c/></r>`},
		{`<r k="1"/>`, `delete /r/@k`, `<r/>`},
		{`<r/>`, `delete /r`, ``},
		{`<r/>`, `delete r/b`, `<r/>`},
		{`<r k="1"/>`, `replace value of (/r/@k)[1] with 2`, `<r k="2"/>`},
		{`<r><b>1</b></r>`, `replace value of (/r/b/text())[1] with (/r/b)[1] + 1`, `<r><b>2</b></r>`},
		{`<r><b>1</b></r>`, `replace value of (/r/b/text())[1] with ""`, `<r><b/></r>`},
		{`<r xmlns="urn:d"/>`, `declare default element namespace "urn:d"; insert <b/> into (/r)[1]`, `<r xmlns="urn:d"><b/></r>`},
		{`<r xmlns="urn:d"/>`, `declare namespace d="urn:d"; insert <b/> into (/d:r)[1]`, `<r xmlns="urn:d"><b xmlns=""/></r>`},
	} {
		x, err := CompileChange(c.change, Use{Method: "modify()"})
		require.NoError(t, err, c.change)
		doc, err := Read(nil, c.text)
		require.NoError(t, err)
		got, err := x.Apply(nil, doc, nil)
		require.NoError(t, err, c.change)
		require.Equal(t, c.want, got, c.change)
		again, err := Read(nil, c.text)
		require.NoError(t, err)
		var w writer
		w.plain(again)
		require.Equal(t, c.text, w.b.String(), "the instance itself does not change")
	}
}

// TestChangeErrors lists changes that SQL Server refuses.
func TestChangeErrors(t *testing.T) {
	for change, number := range map[string]int32{
		`insert <b/> into /r`: 2226, `insert "a" into (/r)[1]`: 2207, `insert attribute a {1} before (/r/a)[1]`: 2258,
		`insert <b/> into (/r/text())[1]`: 2240, `insert <b/> after (/r/@k)[1]`: 2249, `insert <b/> (/r)[1]`: 2248,
		`replace value of /r/@k with 1`: 2337, `replace value of (/r/a)[1] with 1`: 2356,
		`replace value of (/r/@k)[1] with <b/>`: 9310, `replace value of (/r/@k)[1]`: 2205, `delete "x"`: 2264,
		`/r`: 6305, `(`: 2209, `delete`: 2209, ``: 6306,
	} {
		_, err := CompileChange(change, Use{Method: "modify()"})
		require.ErrorIs(t, err, &mserr.Error{Number: number}, change)
	}
	for change, number := range map[string]int32{
		`insert attribute k {1} into (/r)[1]`: 6308, `replace value of (/r/@k)[1] with ()`: 6320,
		`replace value of (/r/text())[1] with (/r/z)[1]`: 6325,
	} {
		x, err := CompileChange(change, Use{Method: "modify()"})
		require.NoError(t, err, change)
		doc, err := Read(nil, `<r k="1">x</r>`)
		require.NoError(t, err)
		_, err = x.Apply(nil, doc, nil)
		require.ErrorIs(t, err, &mserr.Error{Number: number}, change)
	}
}

// FuzzCompile compiles and evaluates any text as a query and as a change: the only errors are SQL
// Server's.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		`for $a in /r/a[1] order by $a/@id return <x y="{$a}">{1}</x>`, `insert <b/> into (/r)[1]`,
		`declare namespace p="u"; //p:a[@b = 1.5e3]/..`, `if (1 = 2) then "a" else xs:int("1")`, `replace value of (/r/@k)[1] with 1`,
		`some $x in (1, 2) satisfies $x > 1 and not(false())`, `element a { attribute b { 1 } }`, `(: (: :) :) -1 div +2`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4000 {
			return
		}
		pool := meter.NewPool(64 << 20)
		m := pool.Session()
		defer m.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		m.Begin(ctx)
		defer m.End()
		watchdog := time.AfterFunc(20*time.Second, func() { panic("no end of " + text) })
		defer watchdog.Stop()
		doc, err := Read(m, instance)
		require.NoError(t, err)
		isKnown := func(err error) {
			var e *mserr.Error
			if stopped := new(meter.Stopped); errors.As(err, &stopped) {
				return // nested predicates may take long, but end when they are told to
			}
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if q, err := Compile(text, Use{Method: "query()"}); err == nil {
			r, err := q.Eval(m, doc, nil)
			isKnown(err)
			if s, err := r.XML(); err == nil {
				_, err = Read(nil, s)
				require.NoError(t, err, "%q returns %q", text, s)
			}
		} else {
			isKnown(err)
		}
		if x, err := CompileChange(text, Use{Method: "modify()"}); err == nil {
			_, err = x.Apply(m, doc, nil)
			isKnown(err)
		} else {
			isKnown(err)
		}
	})
}
