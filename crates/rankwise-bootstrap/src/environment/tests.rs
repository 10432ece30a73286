//! Launchers, one by one and against each other.

use rstest::rstest;

use super::*;

/// `A=1 B=two` as variables.
fn set(text: &str) -> Variables {
    text.split_whitespace()
        .map(|word| {
            let (name, value) = word.split_once('=').unwrap();
            (name.to_owned(), value.to_owned())
        })
        .collect()
}

fn read(text: &str) -> Result<Identity, EnvironmentError> {
    Identity::read(&set(text), &Explicit::default())
}

/// As `torchrun --nnodes 2 --nproc-per-node 4` sets them for one of its workers.
const TORCHRUN: &str = "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 GROUP_RANK=1 \
    GROUP_WORLD_SIZE=2 ROLE_RANK=5 MASTER_ADDR=node0 MASTER_PORT=29400 TORCHELASTIC_RUN_ID=job7 \
    TORCHELASTIC_RESTART_COUNT=2 TORCHELASTIC_USE_AGENT_STORE=True";
/// As `srun -N2 -n8` sets them for one of its tasks.
const SRUN: &str = "SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 SLURM_NTASKS=16 SLURM_LOCALID=1 \
    SLURM_NODEID=1 SLURM_STEP_NODELIST=gpu[007-008] SLURM_JOB_ID=1234567 SLURM_STEP_ID=3";
/// As Open MPI 4.1.4 set them, `mpirun -n 2`, and as its manual lists them.
const MPIRUN: &str = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 \
    OMPI_COMM_WORLD_LOCAL_SIZE=2 OMPI_COMM_WORLD_NODE_RANK=1 OMPI_UNIVERSE_SIZE=2 PMIX_RANK=1 \
    PMIX_NAMESPACE=52822017";
/// As MPICH 4.0.2 set them, `mpiexec -n 2`.
const HYDRA: &str = "PMI_RANK=1 PMI_SIZE=2 PMI_FD=8 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2";
const BY_HAND: &str = "RANK=0 WORLD_SIZE=2 MASTER_ADDR=::1 MASTER_PORT=29500";

/// Launcher, rank, ranks, local rank, local ranks, node, address, job.
type Told = (Launcher, u32, u32, Option<u32>, Option<u32>, Option<u32>, &'static str, &'static str);

#[rstest]
#[case(TORCHRUN, (Launcher::Torchrun, 5, 8, Some(1), Some(4), Some(1), "node0:29401", "job7.2"))]
#[case(SRUN, (Launcher::Slurm, 5, 8, Some(1), None, Some(1), "gpu007:24567", "1234567.3"))]
#[case(MPIRUN, (Launcher::OpenMpi, 1, 2, Some(1), Some(2), None, "-", "52822017"))]
#[case(HYDRA, (Launcher::Pmi, 1, 2, Some(1), Some(2), None, "-", "-"))]
#[case(BY_HAND, (Launcher::ByHand, 0, 2, None, None, None, "[::1]:29500", "-"))]
fn each_launcher_tells_who_a_process_is(#[case] variables: &str, #[case] told: Told) {
    let me = read(variables).unwrap();
    let dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let (launcher, rank, ranks, local_rank, local_ranks, node, address, job) = told;
    assert_eq!(me.launcher, Some(launcher));
    assert_eq!((me.rank.index(), me.world.size().get()), (rank, ranks));
    assert_eq!((me.local_rank, me.local_ranks, me.node), (local_rank, local_ranks, node));
    assert_eq!(dash(me.address.map(|address| address.to_string())), address);
    assert_eq!(dash(me.job), job);
}

#[test]
fn the_port_that_the_agent_holds_is_left_to_it() {
    let me = read(TORCHRUN).unwrap();
    assert_eq!(me.notes, [Note::AgentHoldsPort { held: 29400, used: 29401 }]);
    let without = TORCHRUN.replace("STORE=True", "STORE=False");
    assert_eq!(read(&without).unwrap().address.unwrap().port(), 29400);
}

#[rstest]
// The usual way to several nodes: one agent per node by srun, the ranks by torchrun. The
// variables of Slurm, and of its PMI, number the agents.
#[case(
    "SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_ID=0 SLURM_LOCALID=0 PMI_RANK=1 PMI_SIZE=2",
    TORCHRUN,
    Launcher::Torchrun,
    5
)]
#[case(
    "SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_ID=0 PMIX_RANK=1",
    TORCHRUN,
    Launcher::Torchrun,
    5
)]
// mpirun in a batch script, which is task 0 of the job.
#[case(
    "SLURM_PROCID=0 SLURM_NTASKS=16 SLURM_LOCALID=0 SLURM_NODEID=0",
    MPIRUN,
    Launcher::OpenMpi,
    1
)]
#[case("SLURM_PROCID=0 SLURM_NTASKS=16", HYDRA, Launcher::Pmi, 1)]
fn an_inner_launcher_counts_and_the_outer_is_noted(
    #[case] outer: &str,
    #[case] inner: &str,
    #[case] launcher: Launcher,
    #[case] rank: u32,
) {
    let me = read(&format!("{outer} {inner}")).unwrap();
    assert_eq!((me.launcher, me.rank.index()), (Some(launcher), rank));
    let overruled = me.notes.iter().filter(|note| matches!(note, Note::Overruled { .. }));
    assert!(overruled.count() > 0, "{:?}", me.notes);
}

#[rstest]
#[case(
    "RANK=0 WORLD_SIZE=8 SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8",
    (Launcher::ByHand, "RANK"), 0, (Launcher::Slurm, "SLURM_PROCID"), 5
)]
#[case(
    "SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 WORLD_SIZE=16",
    (Launcher::Slurm, "SLURM_STEP_NUM_TASKS"), 8, (Launcher::ByHand, "WORLD_SIZE"), 16
)]
#[case(
    "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 RANK=1 WORLD_SIZE=4",
    (Launcher::OpenMpi, "OMPI_COMM_WORLD_SIZE"), 2, (Launcher::ByHand, "WORLD_SIZE"), 4
)]
#[case(
    "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMIX_RANK=0",
    (Launcher::OpenMpi, "OMPI_COMM_WORLD_RANK"), 1, (Launcher::Pmix, "PMIX_RANK"), 0
)]
fn two_launchers_that_contradict_each_other_are_named(
    #[case] variables: &str,
    #[case] first: (Launcher, &'static str),
    #[case] first_value: u32,
    #[case] second: (Launcher, &'static str),
    #[case] second_value: u32,
) {
    let contradiction =
        EnvironmentError::Contradiction { first, first_value, second, second_value };
    let error = read(variables).unwrap_err();
    assert_eq!(error, contradiction);
    let text = error.to_string();
    for part in [first.1, second.1, &first_value.to_string(), &second_value.to_string()] {
        assert!(text.contains(part), "{text}");
    }
    // Whoever says which counts is believed, and reminded.
    let named = Explicit { launcher: Some(second.0), ..Explicit::default() };
    if let Ok(me) = Identity::read(&set(variables), &named) {
        assert!(matches!(me.notes[0], Note::Overruled { .. }), "{:?}", me.notes);
    }
}

#[test]
fn what_is_given_goes_before_every_variable() {
    let contradiction = "RANK=0 WORLD_SIZE=8 LOCAL_RANK=3 SLURM_PROCID=5 SLURM_NTASKS=8";
    let explicit = Explicit {
        rank: Some(2),
        ranks: GroupSize::new(3),
        local_rank: Some(0),
        address: Some("[::1]:1".parse().unwrap()),
        launcher: None,
    };
    let me = Identity::read(&set(contradiction), &explicit).unwrap();
    assert_eq!((me.rank.index(), me.world.size().get(), me.local_rank), (2, 3, Some(0)));
    assert_eq!(me.address, explicit.address);
    // With nothing else at all.
    let me = Identity::read(&Variables::new(), &explicit).unwrap();
    assert_eq!((me.launcher, me.rank.index()), (None, 2));
    // And one number of each.
    let half = Explicit { ranks: GroupSize::new(4), ..Explicit::default() };
    let me = Identity::read(&set("PMIX_RANK=3"), &half).unwrap();
    assert_eq!((me.launcher, me.rank.index()), (Some(Launcher::Pmix), 3));
}

#[rstest]
#[case("", EnvironmentError::Nothing)]
#[case("CUDA_VISIBLE_DEVICES=0 LOCAL_RANK=0", EnvironmentError::Nothing)]
#[case("RANK=1", incomplete(Launcher::ByHand, "RANK", "WORLD_SIZE"))]
#[case("RANK=1 WORLD_SIZE=", incomplete(Launcher::ByHand, "RANK", "WORLD_SIZE"))]
#[case("WORLD_SIZE=2", incomplete(Launcher::ByHand, "WORLD_SIZE", "RANK"))]
#[case("SLURM_NTASKS=4", incomplete(Launcher::Slurm, "SLURM_NTASKS", "SLURM_PROCID"))]
#[case("PMIX_RANK=0", incomplete(Launcher::Pmix, "PMIX_RANK", "WORLD_SIZE"))]
#[case(
    "RANK=0 WORLD_SIZE=2 MASTER_ADDR=a",
    incomplete(Launcher::ByHand, "MASTER_ADDR", "MASTER_PORT")
)]
#[case("RANK=x WORLD_SIZE=2", number("RANK", "x"))]
#[case("RANK=-1 WORLD_SIZE=2", number("RANK", "-1"))]
#[case("RANK=0 WORLD_SIZE=4294967296", number("WORLD_SIZE", "4294967296"))]
#[case("RANK=0 WORLD_SIZE=0", number("WORLD_SIZE", "0"))]
#[case(
    "RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=65536",
    number("MASTER_PORT", "65536, no port")
)]
#[case("RANK=2 WORLD_SIZE=2", EnvironmentError::OutOfRange { variable: "RANK", rank: 2, ranks: 2 })]
fn what_does_not_suffice_is_named(#[case] variables: &str, #[case] error: EnvironmentError) {
    assert_eq!(read(variables), Err(error));
}

fn incomplete(launcher: Launcher, found: &'static str, missing: &'static str) -> EnvironmentError {
    EnvironmentError::Incomplete { launcher, found, missing }
}

fn number(variable: &'static str, value: &str) -> EnvironmentError {
    EnvironmentError::NotANumber { variable, value: value.to_owned() }
}

#[test]
fn where_the_ranks_meet_can_be_said_for_any_launcher() {
    for launcher in [TORCHRUN, SRUN, MPIRUN, HYDRA, BY_HAND] {
        let me = read(&format!("{launcher} RANKWISE_RENDEZVOUS=10.0.0.1:5")).unwrap();
        assert_eq!(me.address.unwrap().to_string(), "10.0.0.1:5", "{launcher}");
    }
    assert!(matches!(
        read(&format!("{MPIRUN} RANKWISE_RENDEZVOUS=10.0.0.1")),
        Err(EnvironmentError::Address { variable: RENDEZVOUS, .. })
    ));
}

#[test]
fn what_was_seen_is_kept() {
    let me = read("RANK=0 WORLD_SIZE=1 CUDA_VISIBLE_DEVICES=3,6 HOME=x").unwrap();
    assert_eq!(me.visible_devices.as_deref(), Some("3,6"));
    let names: Vec<_> = me.seen.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["RANK", "WORLD_SIZE", "CUDA_VISIBLE_DEVICES"]);
    // Set to nothing it hides every device; that is not the same as not set.
    let me = read("RANK=0 WORLD_SIZE=1 CUDA_VISIBLE_DEVICES=").unwrap();
    assert_eq!(me.visible_devices.as_deref(), Some(""));
    // A batch script sees Slurm's variables without a step.
    let me = read("SLURM_PROCID=0 SLURM_NTASKS=4").unwrap();
    assert_eq!((me.notes, me.address), (vec![Note::NoStep], None));
}
