//! What `docs/kubernetes.md` shows: the manifest has the layout of the operator, and the image is
//! built by the steps of the README. The commands of `docs/guide/kubernetes.md` fit to both.

use std::fs;

use yaml_rust2::{Yaml, YamlLoader};

fn read(name: &str) -> String {
    let path = format!("{}/../{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).expect("the page is there")
}

/// The block of this language in the reference.
fn block(language: &str) -> String {
    let page = read("docs/kubernetes.md");
    let start = format!("```{language}\n");
    let (_, rest) = page.split_once(&start).expect("the page has such a block");
    let (block, _) = rest.split_once("\n```").expect("it ends");
    block.to_string()
}

#[test]
fn the_manifest_is_yaml_in_the_layout_of_the_operator() {
    let documents = YamlLoader::load_from_str(&block("yaml")).expect("it is YAML");
    let [job] = &documents[..] else {
        panic!("one document");
    };
    assert_eq!(job["apiVersion"].as_str(), Some("kubeflow.org/v2beta1"));
    assert_eq!(job["kind"].as_str(), Some("MPIJob"));
    let spec = &job["spec"];
    assert_eq!(spec["mpiImplementation"].as_str(), Some("MPICH"));
    let mount = spec["sshAuthMountPath"].as_str().expect("a path");
    let replicas = &spec["mpiReplicaSpecs"];
    let container = |of: &str| replicas[of]["template"]["spec"]["containers"][0].clone();
    assert_eq!(replicas["Launcher"]["replicas"].as_i64(), Some(1));
    assert!(replicas["Worker"]["replicas"].as_i64() > Some(1));
    assert_eq!(container("Launcher")["command"][0].as_str(), Some("mpirun"));
    let words = |yaml: &Yaml| -> Vec<String> {
        let words = yaml.as_vec().expect("a list").iter();
        words
            .map(|word| word.as_str().expect("text").to_string())
            .collect()
    };
    let server = container("Worker");
    assert_eq!(words(&server["command"]), ["/usr/sbin/sshd"]);
    let config = words(&server["args"]).pop().expect("a file");
    let port = server["readinessProbe"]["tcpSocket"]["port"].as_i64();
    let port = port.expect("a number");
    let image = block("dockerfile");
    for part in [
        &config,
        &format!("Port {port}\\n"),
        &format!("{mount}/authorized_keys"),
    ] {
        assert!(image.contains(part), "{part}");
    }
    for of in ["Launcher", "Worker"] {
        let container = container(of);
        assert_eq!(
            container["securityContext"]["runAsUser"].as_i64(),
            Some(1000)
        );
        assert_eq!(container["image"].as_str(), Some("REGISTRY/hello"));
    }
}

/// The option in the manifest is understood, and the program is where the image has it.
#[test]
fn the_command_of_the_manifest_is_one_of_mpirun() {
    let documents = YamlLoader::load_from_str(&block("yaml")).expect("it is YAML");
    let replicas = &documents[0]["spec"]["mpiReplicaSpecs"];
    let arguments = replicas["Launcher"]["template"]["spec"]["containers"][0]["args"].clone();
    let arguments = arguments.into_vec().expect("a list").into_iter();
    let arguments = arguments.map(|word| word.into_string().expect("text").into());
    let Ok(launcher::cli::request::Request::Run(options)) = launcher::cli::args::parse(arguments)
    else {
        panic!("mpirun takes it");
    };
    let program = options.programs[0].program.to_str().expect("plain");
    assert!(block("dockerfile").contains(&format!("-o {program}\n")));
}

#[test]
fn the_image_is_built_by_the_steps_of_the_readme() {
    let readme = read("README.md");
    let image = block("dockerfile");
    for step in ["make install PREFIX=", "mpicc hello.c -o "] {
        assert!(readme.contains(step) && image.contains(step), "{step}");
    }
    assert!(readme.contains("hello.c"));
}

/// No cluster is at hand: each command is one of these, with the names of the manifest.
#[test]
fn the_commands_of_the_guide_name_what_the_manifest_and_the_image_name() {
    let documents = YamlLoader::load_from_str(&block("yaml")).expect("it is YAML");
    let name = documents[0]["metadata"]["name"].as_str().expect("a name");
    let replicas = &documents[0]["spec"]["mpiReplicaSpecs"];
    let container = &replicas["Worker"]["template"]["spec"]["containers"][0];
    let image = container["image"].as_str().expect("an image");
    let expected = [
        format!("docker build -t {image} -f Dockerfile ."),
        format!("docker push {image}"),
        format!("kubectl apply -f {name}.yaml"),
        format!("kubectl logs -f job/{name}-launcher"),
        format!("kubectl get mpijob {name}"),
        format!("kubectl delete mpijob {name}"),
    ];
    let page = read("docs/guide/kubernetes.md");
    let blocks = page.split("```sh\n").skip(1);
    let commands: Vec<&str> = blocks
        .flat_map(|rest| rest.split("\n```").next().unwrap_or_default().lines())
        .collect();
    assert_eq!(commands, expected);
    assert!(page.contains(&format!("`{name}.yaml`")) && page.contains("`hello.c`"));
    let reference = read("docs/kubernetes.md");
    for command in [&expected[0], &expected[2], &expected[3]] {
        assert!(reference.contains(command), "{command}");
    }
    let line = page.lines().find(|line| line.contains("hosts are ready"));
    let line = line.expect("the line of progress").trim();
    assert!(reference.contains(line), "{line}");
}
