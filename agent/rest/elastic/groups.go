package elastic

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/targetgroups"
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
		s.get("JobTargetGroups_ListByAgent", groupPath, (*place).listGroups,
			"Lists the target groups of a job agent.", reflect.TypeFor[list[groupView]](), pageParameters...),
		rest.Versioned(s.get("JobTargetGroups_Get", groupPath+"/{group}", (*place).getGroup, "Gets a target group.", one)),
		rest.Versioned(s.change(http.MethodPut, "JobTargetGroups_CreateOrUpdate", groupPath+"/{group}", rest.RoleAuthor, (*place).putGroup,
			"Creates or replaces a target group.", reflect.TypeFor[groupInput](), one, http.StatusCreated)),
		rest.Versioned(s.delete("JobTargetGroups_Delete", groupPath+"/{group}", rest.RoleAuthor, (*place).deleteGroup, "Deletes a target group.")),
	}
}

// maxMembers bounds the members of a target group in a request, and those of all groups on a page:
// an answer with so many has some 1 MB.
const maxMembers = 10_000

// groupView describes a target group.
func (at *place) groupView(g targetgroups.Detail) groupView {
	v := groupView{envelope: envelope{ID: at.id("targetGroups", g.Name), Name: g.Name, Type: typeGroup}}
	v.Properties.Members = make([]memberView, 0, len(g.Members))
	for _, m := range g.Members {
		v.Properties.Members = append(v.Properties.Members, memberView{
			MembershipType: string(m.Membership), Type: string(m.Kind), ServerName: at.shortServer(m.Server), DatabaseName: m.Database,
			ElasticPoolName: m.ElasticPool, ShardMapName: m.ShardMap, TagFilter: m.TagFilter, Query: m.Query,
			TargetGroupName: m.Group, RefreshCredential: at.refer("credentials", m.RefreshCredential),
		})
	}
	return v
}

func (at *place) listGroups(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	read := func(ctx context.Context, p controldb.Page[string]) ([]targetgroups.Detail, error) {
		return targetgroups.On(at.store).Details(ctx, p, maxMembers)
	}
	unread := func(g targetgroups.Detail) bool { return g.Unread }
	return answerNames(ctx, at, r, "targetGroups", read, unread, func(g targetgroups.Detail) string { return g.Name }, at.groupView)
}

func (at *place) getGroup(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name := r.Path["group"]
	group, err := targetgroups.On(at.store).Get(ctx, name)
	if err != nil {
		return nil, orNotFound(err, dberror.ErrGroupNotFound, typeGroup, name)
	}
	return at.answerGroup(http.StatusOK, group), nil
}

func (at *place) answerGroup(status int, group targetgroups.Detail) *rest.Response {
	v := at.groupView(group)
	return tagged(status, v.ID, group.Revision, v)
}

func (at *place) putGroup(ctx context.Context, r *rest.Request) (*rest.Response, error) {
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
	put, err := targetgroups.On(at.store).Set(ctx, name, members, match)
	if err != nil {
		return nil, err
	}
	return at.answerGroup(statusOf(put.Created), put.Object), nil
}

// readMembers reads the body of PUT target group.
func (at *place) readMembers(r *rest.Request, name string) ([]targets.Member, error) {
	var in groupInput
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if n := len(*in.Properties.Members); n > maxMembers {
		return nil, badRequest(codeInvalidBody, "$.properties.members",
			"The target group has %d members: want at most %d. A member of the type SqlServer names all databases of a server.", n, maxMembers)
	}
	var f faults
	in.check(&f, at.id("targetGroups", name), name, typeGroup)
	for i, m := range *in.Properties.Members {
		for _, one := range [][2]string{
			{"membershipType", m.MembershipType}, {"type", m.Type}, {"serverName", at.serverOf(m.ServerName)}, {"databaseName", m.DatabaseName},
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
		credential, err := at.idOf("credentials", m.RefreshCredential, fmt.Sprintf("$.properties.members[%d].refreshCredential", i))
		if err != nil {
			return nil, err
		}
		members = append(members, targets.Member{
			Membership: targets.MembershipType(m.MembershipType), Kind: targets.MemberKind(m.Type), RefreshCredential: credential, Server: at.serverOf(m.ServerName),
			Database: m.DatabaseName, ElasticPool: m.ElasticPoolName, ShardMap: m.ShardMapName, TagFilter: m.TagFilter,
			Query: m.Query, Group: m.TargetGroupName,
		})
	}
	return members, nil
}

// expectGroup returns the revision of a target group that the headers of a request want.
func (at *place) expectGroup(ctx context.Context, r *rest.Request, name string) (*int64, error) {
	return expect(r, dberror.ErrGroupNotFound, func() (string, int64, error) {
		group, err := targetgroups.On(at.store).Get(ctx, name)
		return at.id("targetGroups", group.Name), group.Revision, err
	})
}

func (at *place) deleteGroup(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	match, err := at.expectGroup(ctx, r, r.Path["group"])
	if err != nil {
		return nil, err
	}
	return deleted(targetgroups.On(at.store).DeleteIf(ctx, r.Path["group"], match), dberror.ErrGroupNotFound)
}
