//! Field cases of orders of devices: e01, e08 and e12 as maps that are explored and
//! mended, e10 as meshes, and g05 as divisions.

use rankwise_account::{Division, ElemCount, payload};
use rankwise_model::{Dtype, GroupSize, Layout, Operation, Reduction};
use rankwise_plan::Plan;
use rankwise_plan::explore::explore;
use rankwise_plan::file::Format;
use rankwise_plan::read::NoArrays;
use rankwise_plan::repair::{Mend, Repair, repairs};
use rankwise_topology::{Device, DeviceOrder, Mesh, Partition, RankMap, Sharing, World, reorder};
use serde_json::Value;

fn expected(id: &str) -> Value {
    let path = format!("{}/cases/{id}/expected.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<u32> {
    let numbers = value.as_array().unwrap().iter();
    numbers.map(|number| u32::try_from(number.as_u64().unwrap()).unwrap()).collect()
}

fn lists(value: &Value) -> Vec<Vec<u32>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

/// Eight ranks on `d0` … `d7` in this order, one call from `x` to `y`, and needs.
fn plan(order: &[u32], call: &str, needs: &str) -> Plan {
    let devices: Vec<String> = order.iter().map(|device| format!("\"d{device}\"")).collect();
    let text = format!(
        "format = 1\ngroup.devices = [{}]\ninput.x = {{ dtype = \"f32\", count = 16 }}\n\
         proposal.it.step = [{{ {call}, send = \"x\", recv = \"y\" }}]\nneed = [{needs}]\n",
        devices.join(", ")
    );
    Plan::read(&text, Format::Toml, &mut NoArrays).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn mended(plan: &Plan) -> Vec<Repair> {
    let wanted: Vec<usize> = (0..plan.needs.len()).collect();
    repairs(plan, &plan.proposals[0], &wanted).unwrap()
}

fn order_of(plan: &Plan) -> Vec<String> {
    World::new(plan.world).ranks().map(|rank| plan.device_of(rank).unwrap()).collect()
}

fn in_order() -> Vec<String> {
    (0..8).map(|device| format!("d{device}")).collect()
}

/// e01: the blocks of an all-gather come in another order. As a map: no other order of
/// the devices does, and it is the map that mends it.
#[test]
fn e01_a_gather_in_the_order_of_devices_allows_one_order() {
    let slots = numbers(&expected("e01-nvls-all-gather-permuted")["found_slots"]);
    let parts: Vec<String> = (0..8).map(|device| format!("x@d{device}")).collect();
    let need = format!(
        "{{ on = \"every rank\", buffer = \"y\", holds = 'concat({})' }}",
        parts.join(", ")
    );
    let right = plan(&[0, 1, 2, 3, 4, 5, 6, 7], "call = \"all_gather\"", &need);
    assert_eq!(explore(&right, &right.proposals[0]).unwrap().harmless.to_string(), "1");

    let wrong = plan(&slots, "call = \"all_gather\"", &need);
    let found = mended(&wrong);
    assert!(matches!(found[0].mend, Mend::Map { .. }));
    assert_eq!(order_of(&found[0].plan), in_order());
    // Or the consumer reads the blocks as they come.
    let Mend::Index(rewritten) = &found[1].mend else { panic!("{found:?}") };
    let come: Vec<String> = slots.iter().map(|device| format!("x@d{device}")).collect();
    assert_eq!(rewritten[0].to, format!("holds = 'concat({})'", come.join(", ")));
}

/// e12: each block is right and belongs to another rank. Six devices move, or six
/// messages of one block each do it; ranks 0 and 7 are right as they are.
#[test]
fn e12_the_wrong_owners_exchange_their_blocks() {
    let expected = expected("e12-reduce-scatter-wrong-block");
    let blocks = numbers(&expected["observed_block_of_rank"]);
    let wrong_ranks = numbers(&expected["wrong_ranks"]);
    // Device d holds block b: it takes part as rank b.
    let mut order = vec![0; 8];
    for (device, block) in (0..).zip(&blocks) {
        order[*block as usize] = device;
    }
    let needs: Vec<String> = (0..8)
        .map(|device| {
            format!(
                "{{ on = {{ device = \"d{device}\" }}, buffer = \"y\", \
                 holds = \"shard(avg(x), {device})\" }}"
            )
        })
        .collect();
    let wrong = plan(&order, "call = \"reduce_scatter\", op = \"avg\"", &needs.join(", "));
    let found = mended(&wrong);

    let Mend::Map { permutation, .. } = &found[0].mend else { panic!("{found:?}") };
    assert_eq!(permutation.moved().count(), wrong_ranks.len());
    assert_eq!(order_of(&found[0].plan), in_order());
    let Mend::Index(rewritten) = &found[1].mend else { panic!("{found:?}") };
    let needs: Vec<u32> = rewritten.iter().map(|one| u32::try_from(one.need).unwrap()).collect();
    assert_eq!(needs, wrong_ranks);
    for one in rewritten {
        assert_eq!(one.to, format!("holds = 'shard(avg(x), {})'", blocks[one.need]));
    }
    // Six blocks of two elements of four bytes; a gather is 16 elements on each of eight.
    let Mend::Messages(moves) = &found[2].mend else { panic!("{found:?}") };
    assert_eq!((moves.len(), found[2].total().bytes), (6, 6 * 2 * 4));
    assert!(matches!(found[3].mend, Mend::Gather { .. }));
    assert_eq!(found[3].total().bytes, 8 * 16 * 4);
}

/// e08: which device each rank is on under the variable, and the way back.
#[test]
fn e08_the_variable_permutes_the_devices() {
    let expected = expected("e08-ordinal-minor-nvml-index");
    let devices = (0..8).map(|at| Device::named(&format!("d{at}")).unwrap()).collect();
    let map = RankMap::new(devices, Sharing::Exclusive).unwrap();
    let order = reorder::by_visible(&map, "3,6,5,4,0,7,1,2", DeviceOrder::Physical).unwrap();
    assert_eq!(order.images(), numbers(&expected["ordinal_to_index"]));
    assert_eq!(order.inverse().images(), numbers(&expected["index_to_ordinal"]));
    // "Otherwise say unknown."
    assert!(reorder::by_visible(&map, "3,6,5,4,0,7,1,2", DeviceOrder::Unknown).is_err());
}

/// e10: `[G,N]<=[dims]T(perm)` is a mesh of those sizes, its groups along the axes that
/// come last in the order.
#[test]
fn e10_iota_groups_are_axes_of_a_mesh() {
    let expected = expected("e10-mesh-axes-and-iota-groups");
    let along = |axes: &[(&str, u32)], names: &[&str]| -> Vec<Vec<u32>> {
        let mesh = Mesh::new(axes.iter().copied()).unwrap();
        let partition = Partition::along(&mesh, names).unwrap();
        let members = |group: &rankwise_topology::Group| {
            group.members().iter().map(|rank| rank.index()).collect()
        };
        partition.groups().iter().map(members).collect()
    };
    let cube = [("x", 2), ("y", 2), ("z", 2)];
    let found = [
        ("ar.0", along(&[("x", 2), ("y", 4)], &["x"])), // [4,2]<=[2,4]T(1,0)
        ("ar.1", along(&[("x", 4), ("y", 2)], &["x"])), // [2,4]<=[4,2]T(1,0)
        ("ar.2", along(&[("x", 2), ("y", 4)], &["y"])), // [2,4]<=[8]
        ("ag.0", along(&cube, &["y"])),                 // [4,2]<=[2,2,2]T(0,2,1)
        ("rs.0", along(&cube, &["x", "z"])),            // [2,4]<=[2,2,2]T(1,0,2)
        ("ar.3", along(&[("all", 8)], &["all"])),       // {}: everybody
    ];
    for (name, groups) in found {
        assert_eq!(groups, lists(&expected[name]), "{name}");
    }
    // Transposed and read row by row, the devices are in this order.
    let mesh = Mesh::new([("x", 2), ("y", 4)]).unwrap();
    let order = reorder::by_axes(&mesh, &["y", "x"]).unwrap();
    assert_eq!(order.images(), lists(&expected["ar.0"]).concat());

    // Lists keep their order: the block of 3 comes before that of 1.
    let world = World::new(GroupSize::new(8).unwrap());
    let listed = Partition::from_lists(world, lists(&expected["ag.1"]["groups"])).unwrap();
    let first: Vec<u32> = listed.groups()[0].members().iter().map(|rank| rank.index()).collect();
    assert_eq!(first, numbers(&expected["ag.1"]["block_order_in_group_0"]));
}

#[test]
fn e10_payloads_of_the_calls() {
    let expected = expected("e10-mesh-axes-and-iota-groups");
    let reduction = Reduction::Sum;
    for (name, operation, ranks, count) in [
        ("ar.0", Operation::AllReduce { reduction }, 2, 8),
        ("ag.0", Operation::AllGather, 2, 8),
        ("rs.0", Operation::ReduceScatter { reduction }, 4, 4),
        ("ag.1", Operation::AllGather, 2, 4),
    ] {
        let ranks = GroupSize::new(ranks).unwrap();
        let layout = Layout::new(operation, ranks, count).unwrap();
        let each = payload(&layout, Dtype::F32, ranks.first()).unwrap();
        let sizes = &expected["sizes_bytes"][name];
        assert_eq!(each.input.bytes().get(), sizes["in"].as_u64().unwrap(), "{name}");
        assert_eq!(each.output.bytes().get(), sizes["out"].as_u64().unwrap(), "{name}");
    }
}

/// e10: the mesh itself may have put the devices in another order.
#[test]
fn e10_a_place_in_the_mesh_is_no_device() {
    let example = &expected("e10-mesh-axes-and-iota-groups")["mesh_example"];
    let ids = numbers(&example["create_device_mesh((4,)) ids"]);
    let devices = ids.iter().map(|id| Device::named(&format!("d{id}")).unwrap()).collect();
    let map = RankMap::new(devices, Sharing::Exclusive).unwrap();
    let gathered = numbers(&example["all_gather_along_axis_returns_ids"]);
    let on: Vec<String> =
        map.world().ranks().map(|rank| map.device(rank).unwrap().to_string()).collect();
    assert_eq!(on, gathered.iter().map(|id| format!("d{id}")).collect::<Vec<_>>());
    let next = map.world().rank(1).and_then(|rank| map.device(rank)).unwrap().to_string();
    let neighbour = numbers(&Value::Array(vec![example["axis_neighbour_of_id_0"].clone()]))[0];
    assert_eq!(next, format!("d{neighbour}"));
}

/// g05: what truncating loses, what padding adds, and the counts of uneven shards.
#[test]
fn g05_what_does_not_divide_is_padded_or_uneven_and_never_lost() {
    let expected = expected("g05-three-gpus");
    let cases = expected["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    for case in cases {
        let whole = |value: &Value| value.as_u64().unwrap();
        let (total, world) =
            (whole(&case["n"]), numbers(&Value::Array(vec![case["world"].clone()]))[0]);
        let ranks = GroupSize::new(world).unwrap();
        let division = Division::new(ElemCount::new(total), ranks);
        assert_eq!(division.even(), None);
        if let Some(truncating) = case.get("truncating") {
            let lost = division.lost_by_truncating().get();
            assert_eq!(lost, whole(&truncating["lost"]));
            assert_eq!((total - lost) / u64::from(world), whole(&truncating["shard"]));
        }
        if let Some(wanted) = case.get("padded") {
            let padded = division.padded().unwrap();
            assert_eq!(padded.block().get(), whole(&wanted["shard"]));
            assert_eq!(padded.length().get() - total, whole(&wanted["padding"]));
        }
        // Uneven: every element has one owner, in order, and a shard may be empty.
        let counts: Vec<u64> = case["uneven"].as_array().unwrap().iter().map(whole).collect();
        let mut next = 0;
        for (count, (_, owned)) in counts.iter().zip(division.vector(&counts).unwrap().owned()) {
            assert_eq!(owned, next..next + count);
            next += count;
        }
        assert_eq!(next, total);
    }
    // 8 heads do not divide by 16 ranks: each is on two of them instead.
    let heads = &expected["kv_heads"];
    let (kv, world) = (heads["kv_heads"].as_u64().unwrap(), heads["world"].as_u64().unwrap());
    let ranks = GroupSize::new(u32::try_from(world).unwrap()).unwrap();
    assert_eq!(Division::new(ElemCount::new(kv), ranks).even(), None);
    assert_eq!(world / kv, 2);
}
