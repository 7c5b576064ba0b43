package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// withResultSets executes a module or text whose result sets must be those of WITH RESULT SETS
// ("EXECUTE (Transact-SQL)", "<result_sets_option>"). Values are converted to the declared types.
func (r *run) withResultSets(rs *syntax.ResultSets, do func() error) error {
	var sets [][]types.Column
	for _, set := range rs.Sets {
		cols := make([]types.Column, len(set))
		for i, def := range set {
			t := declarations{r}.resolveType(def.Type)
			if t.Err != nil {
				return failure.Compile(t.Err)
			}
			cols[i] = types.Column{Name: def.Name.Name, Type: t.Type, Nullable: def.Null != syntax.NotNull}
			if def.Collation != "" {
				c, ok := types.CollationByName(def.Collation)
				if !ok {
					return failure.Compile(mserr.InvalidCollation(def.Collation))
				}
				cols[i].Type.Collation = c
			}
		}
		sets = append(sets, cols)
	}
	return r.out.Declared(sets, do)
}
