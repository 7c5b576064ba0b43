package module

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// CheckFunction returns an error for statements that are not allowed in functions, and for a
// missing RETURN.
func CheckFunction(st *syntax.CreateFunctionStmt) error {
	if _, err := Check(nil, st.Params, st.TableVar, st.Returns != nil, st.Body); err != nil {
		return err
	}
	var bad error
	for _, s := range st.Body {
		syntax.Inspect(s, func(n syntax.Node) bool {
			s, ok := n.(syntax.Stmt)
			if !ok || bad != nil {
				return bad == nil
			}
			switch s := s.(type) {
			case *syntax.ReturnStmt:
				if st.Returns != nil && s.Value == nil {
					bad = failure.At(mserr.Of(1075), s)
				}
			case *syntax.BlockStmt, *syntax.IfStmt, *syntax.WhileStmt, *syntax.BreakStmt, *syntax.ContinueStmt,
				*syntax.LabelStmt, *syntax.GotoStmt:
				return true
			case *syntax.TryStmt:
				bad = failure.At(mserr.SideEffect("BEGIN TRY").WithState(14), s)
			case *syntax.SelectStmt:
				if returnsRows(s) {
					bad = failure.At(mserr.SelectInFunction(), s)
				}
				return false
			case *syntax.ExecStmt:
				return false // functions and extended procedures are allowed; checked when the statement runs
			default:
				if err := AllowedInFunction(s); err != nil {
					bad = failure.ErrorAt(err, s)
				}
				return false
			}
			return false
		})
	}
	if bad != nil {
		return bad
	}
	if len(st.Body) == 0 {
		return failure.At(mserr.FunctionWithoutReturn(), st)
	}
	if last := st.Body[len(st.Body)-1]; !endsInReturn(last) {
		return failure.At(mserr.FunctionWithoutReturn(), last)
	}
	return nil
}

// CheckSideEffects returns an error for a built-in function that a function may not call
// (documentation of CREATE FUNCTION).
func CheckSideEffects(st *syntax.CreateFunctionStmt) (err error) {
	syntax.Inspect(st, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.FuncCall); ok && err == nil && call.Name.Schema() == "" {
			switch name := strings.ToLower(call.Name.Last()); name {
			case "newid", "newsequentialid", "rand":
				err = failure.At(mserr.SideEffect(name), call)
			}
		}
		return err == nil
	})
	return err
}

// endsInReturn reports whether a statement is RETURN or a block that ends in RETURN.
func endsInReturn(st syntax.Stmt) bool {
	switch st := st.(type) {
	case *syntax.ReturnStmt:
		return true
	case *syntax.BlockStmt:
		return len(st.Body) > 0 && endsInReturn(st.Body[len(st.Body)-1])
	}
	return false
}

// returnsRows reports whether a SELECT sends rows to the client instead of assigning variables.
func returnsRows(st *syntax.SelectStmt) bool {
	sel, ok := st.Query.Body.(*syntax.Select)
	if !ok {
		return true
	}
	for _, item := range sel.Items {
		if _, assigns := item.(*syntax.SelectAssign); assigns {
			return false
		}
	}
	return true
}

// AllowedInFunction returns an error for statements that are not allowed in functions.
func AllowedInFunction(st syntax.Stmt) error {
	switch st := st.(type) {
	case *syntax.SelectStmt, *syntax.DeclareStmt, *syntax.SetVarStmt, *syntax.DeclareCursorStmt, *syntax.OpenStmt,
		*syntax.FetchStmt, *syntax.CloseStmt, *syntax.DeallocateStmt:
		return nil
	case *syntax.InsertStmt:
		return localTarget(st.Target, "INSERT")
	case *syntax.UpdateStmt:
		return localTarget(st.Target, "UPDATE")
	case *syntax.DeleteStmt:
		return localTarget(st.Target, "DELETE")
	case *syntax.MergeStmt:
		return localTarget(st.Target, "MERGE")
	case *syntax.ExecStmt:
		return mserr.FunctionsOnly()
	}
	return sideEffect(st)
}

// localTarget returns an error unless the target of a change is a table variable.
func localTarget(t syntax.TableSource, verb string) error {
	if _, ok := t.(*syntax.TableVar); ok {
		return nil
	}
	return mserr.SideEffect(verb).WithState(15)
}

// sideEffect is the error of a statement that functions may not have. The state is that of a
// recorded SQL Server 2022.
func sideEffect(st syntax.Stmt) error {
	switch err := mserr.SideEffect(StatementName(st)); st.(type) {
	case *syntax.BeginTranStmt, *syntax.CommitStmt, *syntax.RollbackStmt, *syntax.SaveTranStmt:
		return err.WithState(15)
	default:
		return err.WithState(14)
	}
}
