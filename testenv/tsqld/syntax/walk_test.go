package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWalk visits nodes in fields, in lists, in lists of lists and in structs that are no nodes, in
// the order of the fields, and none below a node for which pre returns false.
func TestWalk(t *testing.T) {
	t.Parallel()
	a, b, c, d := &Literal{Text: "a"}, &Literal{Text: "b"}, &Literal{Text: "c"}, &Literal{Text: "d"}
	rows := &InsertValues{Rows: [][]Expr{{a, b}, {c}}}
	target := &TableVar{Name: "@t"}
	st := &InsertStmt{Target: target, Source: rows, Top: &Top{Count: d}}
	var before, after []Node
	Walk(&Batch{Stmts: []Stmt{st}}, func(n Node) bool {
		before = append(before, n)
		return n != Node(st.Top)
	}, func(n Node) { after = append(after, n) })
	require.Len(t, before, 8)
	require.Equal(t, []Node{st, st.Top, target, rows, a, b, c}, before[1:])
	require.Equal(t, []Node{target, a, b, c, rows, st}, after[:len(after)-1])

	frame := &Frame{From: FrameBound{Offset: a}, To: &FrameBound{Offset: b}}
	before = nil
	Inspect(frame, func(n Node) bool { before = append(before, n); return true })
	require.Equal(t, []Node{frame, a, b}, before)

	Inspect(nil, func(Node) bool { t.Error("a visit of nil"); return true })
	Inspect((*Literal)(nil), func(Node) bool { t.Error("a visit of a nil pointer"); return true })
}
