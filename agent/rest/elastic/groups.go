package elastic

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// groupInput is the body of PUT target group.
type groupInput struct {
	envelope
	Properties struct {
		Members *[]memberInput `json:"members" body:"required"`
	} `json:"properties" body:"required"`
}

type memberInput struct {
	MembershipType    string `json:"membershipType" enum:"Include Exclude Intersect"`
	Type              string `json:"type" body:"required" enum:"SqlServer SqlElasticPool SqlDatabase SqlShardMap TargetGroup Tag Query"`
	ServerName        string `json:"serverName"`
	DatabaseName      string `json:"databaseName"`
	ElasticPoolName   string `json:"elasticPoolName"`
	ShardMapName      string `json:"shardMapName"`
	TagFilter         string `json:"tagFilter"` // an extension, as are the following
	Query             string `json:"query"`
	TargetGroupName   string `json:"targetGroupName"`
	RefreshCredential string `json:"refreshCredential"`
}

// groupView is a target group in an answer.
type groupView struct {
	envelope
	Properties struct {
		Members []memberView `json:"members"`
	} `json:"properties"`
}

type memberView struct {
	MembershipType    string `json:"membershipType" enum:"Include Exclude Intersect"`
	Type              string `json:"type" enum:"SqlServer SqlElasticPool SqlDatabase SqlShardMap TargetGroup Tag Query"`
	ServerName        string `json:"serverName,omitempty"`
	DatabaseName      string `json:"databaseName,omitempty"`
	ElasticPoolName   string `json:"elasticPoolName,omitempty"`
	ShardMapName      string `json:"shardMapName,omitempty"`
	TagFilter         string `json:"tagFilter,omitempty"`
	Query             string `json:"query,omitempty"`
	TargetGroupName   string `json:"targetGroupName,omitempty"`
	RefreshCredential string `json:"refreshCredential,omitempty"`
}

const groupPath = agentPath + "/targetGroups"

// groupOperations are A10 to A13.
func (s *Surface) groupOperations() []rest.Operation {
	one := reflect.TypeFor[groupView]()
	return []rest.Operation{
		{
			ID: "JobTargetGroups_ListByAgent", Method: http.MethodGet, Path: groupPath, Role: rest.RoleReader, Handle: s.listGroups,
			Summary: "Lists the target groups of a job agent.", Query: pageParameters,
			Answers: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[list[groupView]]()},
		},
		{
			ID: "JobTargetGroups_Get", Headers: []string{"ETag"}, RequestHeaders: []string{"If-None-Match"}, Method: http.MethodGet, Path: groupPath + "/{group}", Role: rest.RoleReader, Handle: s.getGroup,
			Summary: "Gets a target group.", Answers: map[int]reflect.Type{http.StatusOK: one},
		},
		{
			ID: "JobTargetGroups_CreateOrUpdate", Headers: []string{"ETag"}, RequestHeaders: []string{"If-Match", "If-None-Match"}, Method: http.MethodPut, Path: groupPath + "/{group}", Role: rest.RoleAuthor, Handle: s.putGroup,
			Summary: "Creates or replaces a target group.", Body: reflect.TypeFor[groupInput](),
			Answers: map[int]reflect.Type{http.StatusOK: one, http.StatusCreated: one},
		},
		{
			ID: "JobTargetGroups_Delete", RequestHeaders: []string{"If-Match"}, Method: http.MethodDelete, Path: groupPath + "/{group}", Role: rest.RoleAuthor, Handle: s.deleteGroup,
			Summary: "Deletes a target group.", Answers: map[int]reflect.Type{http.StatusOK: nil, http.StatusNoContent: nil},
		},
	}
}

// maxMembers bounds the members of a target group in a request, and those of all groups on a page:
// an answer with so many has some 1 MB.
const maxMembers = 10_000

// groupView describes a target group.
func (p *place) groupView(g controldb.TargetGroupDetail) groupView {
	v := groupView{envelope: envelope{ID: p.id("targetGroups", g.Name), Name: g.Name, Type: typeGroup}}
	v.Properties.Members = make([]memberView, 0, len(g.Members))
	for _, m := range g.Members {
		v.Properties.Members = append(v.Properties.Members, memberView{
			MembershipType: string(m.Membership), Type: string(m.Kind), ServerName: p.shortServer(m.Server), DatabaseName: m.Database,
			ElasticPoolName: m.ElasticPool, ShardMapName: m.ShardMap, TagFilter: m.TagFilter, Query: m.Query,
			TargetGroupName: m.Group, RefreshCredential: p.refer("credentials", m.RefreshCredential),
		})
	}
	return v
}

func (s *Surface) listGroups(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	read := func(store *controldb.Store, ctx context.Context, p controldb.Page[string]) ([]controldb.TargetGroupDetail, error) {
		return store.TargetGroupDetails(ctx, p, maxMembers)
	}
	unread := func(g controldb.TargetGroupDetail) bool { return g.Unread }
	return answerNames(ctx, s, r, "targetGroups", read, unread, func(g controldb.TargetGroupDetail) string { return g.Name }, (*place).groupView)
}

func (s *Surface) getGroup(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
	name := r.Path["group"]
	group, err := at.store.TargetGroup(ctx, name)
	if err != nil {
		return nil, orNotFound(err, dberror.ErrGroupNotFound, typeGroup, name)
	}
	return at.answerGroup(http.StatusOK, group), nil
}

// answerGroup returns the answer with a target group.
func (p *place) answerGroup(status int, group controldb.TargetGroupDetail) *rest.Response {
	v := p.groupView(group)
	return tagged(status, v.ID, group.Revision, v)
}

func (s *Surface) putGroup(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
	name := r.Path["group"]
	if err := checkName(typeGroup, name); err != nil {
		return nil, err
	}
	members, err := at.readMembers(r, name)
	if err != nil {
		return nil, err
	}
	match, err := at.expectGroup(ctx, r, name)
	if err != nil {
		return nil, err
	}
	put, err := at.store.SetTargetGroup(ctx, name, members, match)
	if err != nil {
		return nil, err
	}
	return at.answerGroup(statusOf(put.Created), put.Object), nil
}

// readMembers reads the body of PUT target group.
func (p *place) readMembers(r *rest.Request, name string) ([]targets.Member, error) {
	var in groupInput
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if n := len(*in.Properties.Members); n > maxMembers {
		return nil, badRequest(codeInvalidBody, "$.properties.members",
			"The target group has %d members: want at most %d. A member of the type SqlServer names all databases of a server.", n, maxMembers)
	}
	var f faults
	in.check(&f, p.id("targetGroups", name), name, typeGroup)
	for i, m := range *in.Properties.Members {
		for _, one := range [][2]string{
			{"membershipType", m.MembershipType}, {"type", m.Type}, {"serverName", p.serverOf(m.ServerName)}, {"databaseName", m.DatabaseName},
			{"elasticPoolName", m.ElasticPoolName}, {"shardMapName", m.ShardMapName}, {"targetGroupName", m.TargetGroupName},
		} {
			f.short(fmt.Sprintf("$.properties.members[%d].%s", i, one[0]), one[1], maxName)
		}
		f.short(fmt.Sprintf("$.properties.members[%d].tagFilter", i), m.TagFilter, model.MaxTagFilter)
		f.short(fmt.Sprintf("$.properties.members[%d].query", i), m.Query, model.MaxMemberQuery)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	members := make([]targets.Member, 0, len(*in.Properties.Members))
	for i, m := range *in.Properties.Members {
		credential, err := p.idOf("credentials", m.RefreshCredential, fmt.Sprintf("$.properties.members[%d].refreshCredential", i))
		if err != nil {
			return nil, err
		}
		members = append(members, targets.Member{
			Membership: targets.MembershipType(m.MembershipType), Kind: targets.MemberKind(m.Type), RefreshCredential: credential, Server: p.serverOf(m.ServerName),
			Database: m.DatabaseName, ElasticPool: m.ElasticPoolName, ShardMap: m.ShardMapName, TagFilter: m.TagFilter,
			Query: m.Query, Group: m.TargetGroupName,
		})
	}
	return members, nil
}

// expectGroup returns the revision of a target group that the headers of a request want.
func (p *place) expectGroup(ctx context.Context, r *rest.Request, name string) (*int64, error) {
	return expect(r, dberror.ErrGroupNotFound, func() (string, int64, error) {
		group, err := p.store.TargetGroup(ctx, name)
		return p.id("targetGroups", group.Name), group.Revision, err
	})
}

func (s *Surface) deleteGroup(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
	match, err := at.expectGroup(ctx, r, r.Path["group"])
	if err != nil {
		return nil, err
	}
	return deleted(at.store.DeleteTargetGroupIf(ctx, r.Path["group"], match), dberror.ErrGroupNotFound)
}
