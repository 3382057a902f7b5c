package clinic_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// operate has an operator do something with the integration with a product.
func (p *practice) operate(product, action string) {
	p.t.Helper()
	var id string
	require.NoError(p.t, p.hub.Host.Pool.QueryRow(p.t.Context(), `select id from hub.integrations where tenant_id = $1 and product = $2`, p.id, product).Scan(&id))
	p.hub.CallAPI("POST", "/api/v1/integrations/"+id+"/"+action, nil, &object{})
}

// parks waits until the deletion event is parked for a peer, and gives why.
func (p *practice) parks(product string) (reason string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		err := p.hub.Host.Pool.QueryRow(p.t.Context(), `
			select d.reason from hub.deliveries d join hub.integrations i on i.id = d.target_id
			where d.tenant_id = $1 and i.product = $2 and d.event_type = 'patient.deleted' and d.status = 2`, p.id, product).Scan(&reason)
		return err == nil
	}, 3*soon, tick)
	return reason
}

// A product that is paused is not forgotten with the patient: it is shown, and hears of the
// deletion, and of nothing else that happened meanwhile, once it is enabled.
func TestDeletionWhileAPeerIsPaused(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m, s := p.connect("messaging"), p.connect("scheduling")
	p.operate("scheduling", "disable")
	id := p.ok(201, "POST", "/patients", object{"name": "Zuleica", "phone": "+5511977771111"})["id"].(string)
	path := p.deleted(id)
	require.Eventually(t, func() bool { return peers(p.get(path))["messaging"] == "acknowledged" }, soon, tick)
	require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "failed"}, peers(p.get(path)))
	require.Equal(t, "needs_attention", p.get(path)["status"])
	require.Equal(t, "integration_inactive", p.parks("scheduling"))
	require.Empty(t, s.got)
	require.Len(t, m.arrived("patient.created"), 1)

	p.operate("scheduling", "enable")
	require.Equal(t, map[string]string{"messaging": "acknowledged", "scheduling": "acknowledged"}, peers(p.follows(path, "completed")))
	told := s.arrived("patient.deleted")
	require.Len(t, told, 1)
	require.Equal(t, "+5511977771111", told[0].data["phone"], "by which it knows whom to forget")
	require.Len(t, s.got, 1)
	require.Len(t, m.arrived("patient.deleted"), 1)
	p.hurry()
	p.nowhere("977771111")
}

// So is one whose key was refused for a day, and which nobody switched off.
func TestDeletionWhileAPeerIsGivenUp(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	s := p.connect("scheduling")
	s.refuse(true)
	p.exec(`update hub.integrations set unauthorized_since = now() - interval '25 hours', next_probe_at = now() where tenant_id = $1`)
	require.Eventually(t, func() bool {
		return p.count(`select count(*) from hub.integrations where tenant_id = $1 and status = 'inactive' and not disabled`) == 1
	}, soon, tick)
	path := p.deleted(p.patient(phone))
	require.Equal(t, "needs_attention", p.get(path)["status"])
	require.Equal(t, map[string]string{"scheduling": "failed"}, peers(p.get(path)))
	s.refuse(false)
	p.operate("scheduling", "enable")
	p.follows(path, "completed")
	require.Len(t, s.arrived("patient.deleted"), 1)
}

// Who is told by people while it is paused is not told again by the hub, which erases the event.
func TestPausedPeerThatPeopleTold(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	s := p.connect("scheduling")
	p.operate("scheduling", "disable")
	path := p.deleted(p.patient("+5511977771111"))
	p.parks("scheduling")
	require.Equal(t, "completed", p.ok(200, "POST", path+"/peers/scheduling/acknowledge", object{"note": "by phone"})["status"])
	p.hurry()
	p.nowhere("977771111")
	p.operate("scheduling", "enable")
	p.patient(phone)
	require.Eventually(t, func() bool { return len(s.arrived("patient.created")) == 1 }, soon, tick)
	require.Empty(t, s.arrived("patient.deleted"))
}

// A peer that answers that it is gone has not acknowledged. The event is parked, and taken
// when the peer answers otherwise; people can note at once that they told it, and are asked
// to after a day.
func TestDeletionThatIsParked(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	s := p.connect("scheduling")
	s.answer(410)
	path := p.deleted(p.patient("+5511977771111"))
	require.Equal(t, "gone", p.parks("scheduling"))
	require.Equal(t, "waiting", p.get(path)["status"])
	require.Equal(t, map[string]string{"scheduling": "pending"}, peers(p.get(path)))

	p.exec(`update clinic.deletion_requests set requested_at = requested_at - interval '25 hours' where clinic_id = $1`)
	require.Equal(t, map[string]string{"scheduling": "failed"}, peers(p.follows(path, "needs_attention")))
	s.answer(0)
	p.exec(`update hub.integrations set trial_at = now() where tenant_id = $1`)
	require.Equal(t, map[string]string{"scheduling": "acknowledged"}, peers(p.follows(path, "completed")))
	require.Len(t, s.arrived("patient.deleted"), 1)

	s.answer(410)
	path = p.deleted(p.patient("+5511977772222"))
	p.parks("scheduling")
	require.Equal(t, map[string]string{"scheduling": "pending"}, peers(p.get(path)))
	told := p.ok(200, "POST", path+"/peers/scheduling/acknowledge", object{"note": "by phone"})
	require.Equal(t, "completed", told["status"])
	p.hurry()
	p.nowhere("977771111", "977772222")
	require.Len(t, s.arrived("patient.deleted"), 1)
}

// Only the products that are connected to the patient's own data are asked.
func TestDeletionAsksThePeersOfItsEnvironment(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	live, test := p.connect("messaging"), p.on("test").connect("scheduling")
	for _, one := range []struct {
		clinic       *practice
		asked        string
		hears, peace *peer
	}{{p.on("test"), "scheduling", test, live}, {p, "messaging", live, test}} {
		before := len(one.peace.arrived("patient.deleted"))
		path := one.clinic.deleted(one.clinic.patient(phone))
		require.Equal(t, map[string]string{one.asked: "acknowledged"}, peers(one.clinic.follows(path, "completed")))
		require.Len(t, one.hears.arrived("patient.deleted"), 1)
		require.Len(t, one.peace.arrived("patient.deleted"), before)
	}
}

// Administrators find the requests that need them among the others.
func TestDeletionsAreListed(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	s := p.connect("scheduling")
	done := p.deleted(p.patient(phone))
	p.follows(done, "completed")
	p.operate("scheduling", "disable")
	stuck := p.deleted(p.patient("+5511977771111"))
	p.operate("scheduling", "enable")
	p.follows(stuck, "completed")
	p.operate("scheduling", "disable")
	stuck = p.deleted(p.patient("+5511977772222"))
	s.answer(500)
	p.on("test").deleted(p.on("test").patient(phone))
	other := p.another()
	other.deleted(other.patient(phone))

	ids := func(query string) (list []string) {
		for _, one := range p.items("/deletion-requests" + query) {
			list = append(list, "/deletion-requests/"+one["id"].(string))
		}
		return list
	}
	all := ids("")
	require.Len(t, all, 3)
	require.Equal(t, stuck, all[0], "the newest first")
	require.Equal(t, done, all[2])
	require.Equal(t, []string{stuck}, ids("?status=needs_attention"))
	require.Equal(t, all[1:], ids("?status=completed"))
	require.Empty(t, ids("?status=waiting"))
	require.Equal(t, p.get(stuck), p.items("/deletion-requests")[0], "with its peers")
	page := p.get("/deletion-requests?per_page=1&page=2")
	require.EqualValues(t, 3, page["total"])
	require.Len(t, page["items"], 1)
	require.Equal(t, all[1], "/deletion-requests/"+page["items"].([]any)[0].(object)["id"].(string))
	p.invalid("query.status", "GET", "/deletion-requests?status=failed", nil)
	p.staff().refused(403, "admin_only", "GET", "/deletion-requests", nil)
	require.Equal(t, recorded{"deletions.list", "tenant_user", "live", ""}, p.onRecord("&action=deletions.list")[0])
}
