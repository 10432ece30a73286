//! The schemes and their options on the command line.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use rankwise_model::Dtype;
use rankwise_plan::template::{
    Average, Ddp, Draft, ExpertParallel, Fsdp, Hsdp, LinearPair, Messages, Optimizer, Order,
    Pipeline, Ranks, Rule, SequenceParallel, Stage, TemplateError, TensorParallel, Training, Types,
    Zero,
};

use crate::unusable::Unusable;

/// Which scheme.
#[derive(Debug, Subcommand)]
pub(crate) enum Scheme {
    /// Data parallelism: every rank holds everything, gradients are averaged.
    Ddp(TrainingArgs),
    /// Full sharding: parameters are gathered to be used, gradients reduce-scattered.
    Fsdp(TrainingArgs),
    /// Full sharding inside each group of a mesh, replicas across groups.
    ///
    /// Takes `--mesh replica=N,shard=N`, in either order.
    Hsdp(TrainingArgs),
    /// ZeRO stage 1: the optimizer's state is sharded.
    Zero1(TrainingArgs),
    /// ZeRO stage 2: gradients too.
    Zero2(TrainingArgs),
    /// ZeRO stage 3: parameters too.
    Zero3(TrainingArgs),
    /// A column- and a row-parallel layer; partial outputs are summed.
    TensorParallel(PairArgs),
    /// The same pair of layers, with tokens sharded outside of it.
    SequenceParallel(PairArgs),
    /// Tokens go to the ranks of their experts, and come back.
    ExpertParallel(ExpertArgs),
    /// Stages hand activations on, and gradients back.
    Pipeline(PipelineArgs),
}

/// Who takes part, and what is made.
#[derive(Debug, clap::Args)]
pub(crate) struct CommonArgs {
    /// How many ranks there are.
    #[arg(long, value_name = "N", required_unless_present = "mesh")]
    ranks: Option<u64>,

    /// The ranks as a mesh: each axis with its size, the last varying fastest.
    #[arg(long, value_name = "AXIS=N", value_delimiter = ',', value_parser = axis)]
    mesh: Vec<(String, u32)>,

    /// With --mesh: the scheme runs along this axis, in each group of it.
    #[arg(long, value_name = "AXIS", requires = "mesh")]
    along: Option<String>,

    /// The device of each rank, rank 0 first.
    #[arg(long, value_name = "DEVICE", value_delimiter = ',')]
    devices: Vec<String>,

    /// Show what every rank holds after each passage, and not the plan.
    #[arg(long)]
    pub(crate) holdings: bool,

    /// Write the plan into this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// What is trained, in which types.
#[derive(Debug, clap::Args)]
pub(crate) struct TrainingArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The elements of each layer's flat parameter.
    #[arg(long, value_name = "ELEMENTS", value_delimiter = ',', required = true)]
    layers: Vec<u64>,

    #[command(flatten)]
    state: StateArgs,

    /// The element type in which gradients are reduced; their own if not said.
    #[arg(long, value_name = "TYPE")]
    reduce: Option<Dtype>,

    /// Where the sum over the ranks becomes an average.
    #[arg(long, default_value = "call")]
    average: AverageArg,
}

/// The element types of what is trained, and what the optimizer keeps.
#[derive(Debug, clap::Args)]
struct StateArgs {
    /// The element type of parameters, as layers compute with them.
    #[arg(long, value_name = "TYPE", default_value = "bf16")]
    param: Dtype,

    /// The element type of gradients; that of parameters if not said.
    #[arg(long, value_name = "TYPE")]
    grad: Option<Dtype>,

    /// What updates the parameters.
    #[arg(long, default_value = "adam")]
    optimizer: OptimizerArg,

    /// The element type of the optimizer's moments.
    #[arg(long, value_name = "TYPE", default_value = "f32")]
    state: Dtype,

    /// The element type of the master copy, or `none`; `f32` if not said and parameters
    /// are of another type.
    #[arg(long, value_name = "TYPE|none")]
    master: Option<Master>,
}

/// A pair of linear layers.
#[derive(Debug, clap::Args)]
pub(crate) struct PairArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The rows of what goes in and comes out.
    #[arg(long, value_name = "ROWS")]
    tokens: u64,

    /// Its columns.
    #[arg(long, value_name = "COLUMNS")]
    hidden: u64,

    /// The columns between the two layers.
    #[arg(long, value_name = "COLUMNS")]
    inner: u64,

    #[command(flatten)]
    state: StateArgs,
}

/// A layer of experts.
#[derive(Debug, clap::Args)]
pub(crate) struct ExpertArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// How many experts there are on all ranks together.
    #[arg(long, value_name = "N")]
    experts: u64,

    /// How many tokens each rank may send to each expert.
    #[arg(long, value_name = "TOKENS")]
    capacity: u64,

    /// The elements of a token.
    #[arg(long, value_name = "ELEMENTS")]
    hidden: u64,

    /// The parameters of one expert.
    #[arg(long, value_name = "ELEMENTS")]
    weights: u64,

    #[command(flatten)]
    state: StateArgs,
}

/// Stages and micro-batches.
#[derive(Debug, clap::Args)]
pub(crate) struct PipelineArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The parameters of each stage.
    #[arg(long, value_name = "ELEMENTS")]
    weights: u64,

    /// What a stage hands on for one micro-batch.
    #[arg(long, value_name = "ELEMENTS")]
    activation: u64,

    /// How many micro-batches there are.
    #[arg(long, value_name = "N")]
    micro_batches: u64,

    /// In which order each stage takes them.
    #[arg(long, default_value = "1f1b")]
    order: OrderArg,

    /// How the messages between stages are written down.
    #[arg(long, default_value = "listed")]
    messages: MessagesArg,

    #[command(flatten)]
    state: StateArgs,
}

/// In which order a stage takes its micro-batches.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum OrderArg {
    /// One forward and one backward in turn.
    #[value(name = "1f1b")]
    OneAndOne,
    /// Every forward, then every backward.
    Gpipe,
}

/// How the messages between stages are written down.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum MessagesArg {
    /// One list of steps, in an order in which they can happen.
    Listed,
    /// A program for each rank: receive, compute, send, on one stream. With 1f1b that is
    /// a deadlock, which `check` shows.
    InTurn,
    /// The same, but of two neighbours that are about to send to each other the odd stage
    /// receives first.
    Exchanged,
}

/// What updates the parameters.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum OptimizerArg {
    /// Two moments per parameter; what it leaves is a new value of its rank.
    Adam,
    /// parameter - gradient / 100, so that schemes can be compared by what they leave.
    Sgd,
}

/// Where a sum becomes an average.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum AverageArg {
    /// The collective averages.
    Call,
    /// Divided by the ranks before a sum.
    Before,
    /// Divided by the ranks after it.
    After,
}

/// The type of a master copy, if there is to be one.
#[derive(Clone, Copy, Debug)]
struct Master(Option<Dtype>);

impl std::str::FromStr for Master {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "none" => Ok(Self(None)),
            word => match word.parse::<Dtype>() {
                Ok(dtype) => Ok(Self(Some(dtype))),
                Err(error) => Err(format!("{error}, or none")),
            },
        }
    }
}

/// `replica=2`.
fn axis(text: &str) -> Result<(String, u32), String> {
    const EXPECTED: &str = "expected an axis and its size, such as replica=2";
    let (name, size) = text.split_once('=').ok_or(EXPECTED)?;
    let size = size.parse().map_err(|error| format!("{error}: {EXPECTED}"))?;
    Ok((name.to_owned(), size))
}

impl Scheme {
    /// Shown below the schemes. A test runs them.
    pub(crate) const EXAMPLES: &str = "\
Examples:
  rankwise template fsdp --ranks 8 --layers 1000,2000 --out plan.toml
  rankwise template zero2 --ranks 8 --layers 1000,2000 --holdings
  rankwise template hsdp --mesh replica=2,shard=4 --layers 1000 --reduce f32
  rankwise template pipeline --ranks 4 --weights 1000 --activation 64 --micro-batches 8

Each scheme has options of its own: `rankwise template pipeline --help`.";

    /// What all schemes are asked for.
    pub(crate) const fn common(&self) -> &CommonArgs {
        match self {
            Self::Ddp(args)
            | Self::Fsdp(args)
            | Self::Hsdp(args)
            | Self::Zero1(args)
            | Self::Zero2(args)
            | Self::Zero3(args) => &args.common,
            Self::TensorParallel(args) | Self::SequenceParallel(args) => &args.common,
            Self::ExpertParallel(args) => &args.common,
            Self::Pipeline(args) => &args.common,
        }
    }

    /// The plan and its schedule.
    pub(crate) fn draft(&self) -> Result<Draft, Box<Unusable>> {
        self.drafted().map_err(|error| Unusable::usage(error.found(), error.expected()))
    }

    fn drafted(&self) -> Result<Draft, TemplateError> {
        let zero = |stage, args: &TrainingArgs| Zero { stage, training: args.training()? }.draft();
        match self {
            Self::Ddp(args) => Ddp { training: args.training()? }.draft(),
            Self::Fsdp(args) => Fsdp { training: args.training()? }.draft(),
            Self::Hsdp(args) => Hsdp { training: args.training()? }.draft(),
            Self::Zero1(args) => zero(Stage::Optimizer, args),
            Self::Zero2(args) => zero(Stage::Gradients, args),
            Self::Zero3(args) => zero(Stage::Parameters, args),
            Self::TensorParallel(args) => TensorParallel { pair: args.pair()? }.draft(),
            Self::SequenceParallel(args) => SequenceParallel { pair: args.pair()? }.draft(),
            Self::ExpertParallel(args) => args.layer()?.draft(),
            Self::Pipeline(args) => args.pipeline()?.draft(),
        }
    }
}

impl CommonArgs {
    fn ranks(&self) -> Result<Ranks, TemplateError> {
        let mut ranks = match (self.ranks, self.mesh.is_empty()) {
            (said, false) => {
                let mesh = Ranks::mesh(self.mesh.iter().map(|(name, size)| (name, *size)))?;
                match said.filter(|said| *said != mesh.count()) {
                    Some(ranks) => {
                        return Err(TemplateError::MeshSize { mesh: mesh.count(), ranks });
                    }
                    None => mesh,
                }
            }
            (said, true) => Ranks::flat(said.unwrap_or(0)),
        };
        if let Some(axis) = &self.along {
            ranks = ranks.along(axis)?;
        }
        if self.devices.is_empty() { Ok(ranks) } else { ranks.on_devices(&self.devices) }
    }
}

impl StateArgs {
    fn grad(&self) -> Dtype {
        self.grad.unwrap_or(self.param)
    }

    fn optimizer(&self) -> Optimizer {
        let rule = match self.optimizer {
            OptimizerArg::Adam => Rule::Adam,
            OptimizerArg::Sgd => Rule::Sgd,
        };
        let usual = Optimizer::new(rule, self.param);
        let master = self.master.map_or(usual.master, |Master(said)| said);
        Optimizer { rule, state: self.state, master }
    }
}

impl TrainingArgs {
    fn training(&self) -> Result<Training, TemplateError> {
        let grad = self.state.grad();
        let reduce = self.reduce.unwrap_or(grad);
        let average = match self.average {
            AverageArg::Call => Average::InTheCall,
            AverageArg::Before => Average::DividedBefore,
            AverageArg::After => Average::DividedAfter,
        };
        Ok(Training {
            ranks: self.common.ranks()?,
            layers: self.layers.clone(),
            types: Types { param: self.state.param, grad, reduce },
            optimizer: self.state.optimizer(),
            average,
        })
    }
}

impl PairArgs {
    fn pair(&self) -> Result<LinearPair, TemplateError> {
        Ok(LinearPair {
            ranks: self.common.ranks()?,
            tokens: self.tokens,
            hidden: self.hidden,
            inner: self.inner,
            param: self.state.param,
            grad: self.state.grad(),
            optimizer: self.state.optimizer(),
        })
    }
}

impl ExpertArgs {
    fn layer(&self) -> Result<ExpertParallel, TemplateError> {
        Ok(ExpertParallel {
            ranks: self.common.ranks()?,
            experts: self.experts,
            capacity: self.capacity,
            hidden: self.hidden,
            weights: self.weights,
            param: self.state.param,
            grad: self.state.grad(),
            optimizer: self.state.optimizer(),
        })
    }
}

impl PipelineArgs {
    fn pipeline(&self) -> Result<Pipeline, TemplateError> {
        Ok(Pipeline {
            ranks: self.common.ranks()?,
            weights: self.weights,
            activation: self.activation,
            micro_batches: self.micro_batches,
            order: match self.order {
                OrderArg::OneAndOne => Order::OneAndOne,
                OrderArg::Gpipe => Order::ForwardsFirst,
            },
            messages: match self.messages {
                MessagesArg::Listed => Messages::Listed,
                MessagesArg::InTurn => Messages::InTurn,
                MessagesArg::Exchanged => Messages::Exchanged,
            },
            param: self.state.param,
            grad: self.state.grad(),
            optimizer: self.state.optimizer(),
        })
    }
}
